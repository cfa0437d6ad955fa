// Ratios of generalised Stirling numbers, which count tables of a Pitman-Yor process.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace priorwise {

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
