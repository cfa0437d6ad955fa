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
//   taken at the saddle points of g(z)^t / z^n for t - 1 and t, corrected for t close to n.
// Relative errors are below 5e-3 for a <= 0.75; the third way has up to 3 % for larger a.
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

    // log S_a(n, t) but for terms that do not depend on a: log Gamma(n - a) - log Gamma(1 - a) -
    // sum over 1 < s <= t of log V(n, s). Above 512 rows and 128 tables the sum is continued by the
    // difference of two saddle points.
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
