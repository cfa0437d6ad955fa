// Ratios of Stirling numbers, which count the tables that rows take.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace priorwise {

// Ratios of unsigned Stirling numbers of the first kind.
// V(n, t) = S(n, t - 1) / S(n, t) for 1 <= t <= n, any n.
//
// The Gibbs sampler needs nothing else: S(n, t + 1) / S(n, t) = 1 / V(n, t + 1) and
// S(n + 1, t) / S(n, t) = n + V(n, t). Ratios neither overflow nor need a logarithm, and obey
//
//     V(n + 1, t) = V(n, t) * (n + V(n, t - 1)) / (n + V(n, t)),   V(n, 1) = 0,
//     V(n + 1, n + 1) = n + V(n, n).
//
// Memory does not grow with n: a triangular table of 4 MB, one per process, holds n <= 1024.
// Above that, up to n = 2^53:
// - t <= 24: S(n, t) / (n - 1)! is the elementary symmetric polynomial of degree t - 1 in
//   1, 1/2, ..., 1/(n - 1), computed from power sums by Newton's identities, exact to 1e-10; the
//   last few thousand rows used stay in a cache of 0.9 MB per sampler.
// - t > 24: with x solving x (digamma(x + n) - digamma(x)) = t - 1/2, the saddle point of the
//   generating function x (x + 1) ... (x + n - 1), and s2, s3 the second and third cumulant there,
//   V = x exp(s3 / (2 s2^2)), corrected at both ends of 1..n, with a relative error below 2e-5 that
//   falls as 1 / t^2. Where t is close to n the cumulants are taken from a series in n / x instead
//   of digamma, whose differences have no digits left there.
class StirlingRatios {
  public:
    static constexpr std::int64_t kTableRows = 1024;
    static constexpr std::int64_t kExactTables = 24;

    StirlingRatios();

    double operator()(std::int64_t n, std::int64_t t) {
        return n <= kTableRows ? row(n)[t] : beyond_table(n, t);
    }

    // row(n)[t] = V(n, t) for n <= kTableRows.
    const double* row(std::int64_t n) const { return table_ + n * (n - 1) / 2 - 1; }
    double in_table(std::int64_t n, std::int64_t t) const { return row(n)[t]; }

  private:
    struct CachedRow {
        std::int64_t n = 0;
        std::array<double, kExactTables + 1> ratio;
    };

    double beyond_table(std::int64_t n, std::int64_t t);

    const double* table_;
    std::vector<CachedRow> cache_;
};

// Ratios of generalised Stirling numbers, which count tables of a Pitman-Yor process.
// V(n, t) = S_a(n, t - 1) / S_a(n, t) for 1 <= t <= n and a discount 0 < a < 1, where
//
//     S_a(n + 1, t) = S_a(n, t - 1) + (n - a t) S_a(n, t),   S_a(1, 1) = 1,
//
// so that S_a(n + 1, t) / S_a(n, t) = n - a t + V(n, t). Memory does not grow with n: a triangular
// table of at most 1 MB holds n <= 512, or less where fewer rows are asked for. Above that
// - t <= 128: V(n + 1, t) - V(n, t) = V(n, t) (a + V(n, t - 1) - V(n, t)) / (V(n, t) + n - a t) is
//   taken as a differential equation in log n, from the last row of the table on; the last rows
//   used stay in a cache of 0.3 MB;
// - t > 128: with g(z) = (1 - (1 - z)^a) / a, S_a(n, t) = n! / t! [z^n] g(z)^t, and the ratio is
//   that of two integrals of Cauchy, or where t is close to n of two sums.
// Relative errors are below 5e-4 in the first way, and below 1e-6 in the second where n < 10^9.
class DiscountedStirling {
  public:
    static constexpr std::int64_t kTableRows = 512;
    static constexpr std::int64_t kFollowed = 128;

    // For n up to most_rows.
    explicit DiscountedStirling(double discount, std::int64_t most_rows);

    double operator()(std::int64_t n, std::int64_t t) {
        if (t <= 1) return 0.0;
        return n <= kTableRows ? table_[static_cast<std::size_t>(n * (n - 1) / 2 + t - 1)]
                               : beyond_table(n, t);
    }

    // log S_a(n, t) but for terms that do not depend on a.
    double log_number(std::int64_t n, std::int64_t t);

  private:
    struct CachedRow {
        std::int64_t n = 0;
        std::array<double, kFollowed + 1> ratio;
    };

    double beyond_table(std::int64_t n, std::int64_t t);
    void follow(double n, std::array<double, kFollowed + 1>& ratio) const;
    const double* followed_row(std::int64_t n);

    double discount_;
    std::vector<double> table_;
    std::vector<CachedRow> cache_;
};

}  // namespace priorwise
