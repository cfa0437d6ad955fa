#include "processes/stirling.hpp"

#include <algorithm>
#include <cmath>

#include "common/special.hpp"

namespace priorwise {
namespace {

constexpr std::size_t kCachedRows = 4096;
constexpr double kEulerGamma = 0.57721566490153286061;

std::vector<double> build_table() {
    constexpr auto n_rows = StirlingRatios::kTableRows;
    std::vector<double> table(n_rows * (n_rows + 1) / 2);
    const auto row = [&](std::int64_t n) { return table.data() + n * (n - 1) / 2 - 1; };
    row(1)[1] = 0.0;
    for (std::int64_t n = 1; n < n_rows; ++n) {
        const double* now = row(n);
        double* next = row(n + 1);
        next[1] = 0.0;
        for (std::int64_t t = 2; t <= n; ++t)
            next[t] =
                now[t] * (static_cast<double>(n) + now[t - 1]) / (static_cast<double>(n) + now[t]);
        next[n + 1] = static_cast<double>(n) + now[n];
    }
    return table;
}

// Sum of i^-j over i >= m, by Euler and Maclaurin.
double tail_power_sum(double m, int j) {
    const double last = std::pow(m, -j);
    return last *
           (m / (j - 1) + 0.5 + j / (12.0 * m) - j * (j + 1.0) * (j + 2.0) / (720.0 * m * m * m));
}

// Sum of i^-j over 1 <= i < n.
double power_sum(double n, int j) {
    if (j == 1) return digamma(n) + kEulerGamma;
    constexpr int n_direct = 32;
    double sum = 0.0;
    for (int i = n_direct - 1; i >= 1; --i) sum += std::pow(i, -j);
    return sum + tail_power_sum(n_direct, j) - tail_power_sum(n, j);
}

// Newton's identities: k e_k = sum_i (-1)^(i - 1) e_(k - i) p_i. Then V(n, t) = e_(t-2) / e_(t-1).
void fill_exact_row(std::int64_t n, std::array<double, StirlingRatios::kExactTables + 1>& ratio) {
    constexpr int size = StirlingRatios::kExactTables;
    std::array<double, size> p;
    std::array<double, size> e;
    for (int j = 1; j < size; ++j) p[j] = power_sum(static_cast<double>(n), j);
    e[0] = 1.0;
    for (int k = 1; k < size; ++k) {
        double sum = 0.0;
        for (int i = k; i >= 1; --i) sum += (i % 2 ? 1.0 : -1.0) * e[k - i] * p[i];
        e[k] = sum / k;
    }
    ratio[1] = 0.0;
    for (int t = 2; t <= size; ++t) ratio[t] = e[t - 2] / e[t - 1];
}

// The first three cumulants of the number of tables when n rows sit down with concentration x: row
// i opens a table with probability x / (x + i).
struct TableCumulants {
    double above_target;  // mean less target
    double second;
    double third;
};

// The third is left out: only the last step needs it.
TableCumulants cumulants_by_digamma(double x, double n, double target) {
    const double mean = x * digamma_rise(x, n);
    return {mean - target, mean + x * x * (trigamma(x + n) - trigamma(x)), 0.0};
}

double third_cumulant_by_digamma(double x, double n, double mean, double second) {
    return 3.0 * second - 2.0 * mean + x * x * x * (tetragamma(x + n) - tetragamma(x));
}

// The same for x far above n, where nearly every row opens a table and the differences of digamma
// above lose all digits. With q_i = i / (x + i) the probability of no table, the cumulants are
// those of the rows without a table, whose number is small: sums of q, q^2 and q^3, which are power
// series in n / x. Their coefficients are means of (i / n)^j, by Euler and Maclaurin.
TableCumulants cumulants_by_series(double x, double n, double target_others) {
    constexpr int n_terms = 24;
    const double ratio = n / x;
    const double inverse = 1.0 / n;
    double sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
    double power = n;
    for (int j = 1; j <= n_terms; ++j) {
        power *= ratio;
        const double falling = j * (j - 1.0) * (j - 2.0);
        const double mean =
            1.0 / (j + 1) -
            inverse * (0.5 - inverse * (j / 12.0 - inverse * inverse * falling / 720.0));
        const double term = (j % 2 ? 1.0 : -1.0) * power * mean;
        sum1 += term;
        sum2 -= (j - 1) * term;
        sum3 += (j - 1) * (j - 2) / 2 * term;
    }
    return {target_others - sum1, sum1 - sum2, -(sum1 - 3.0 * sum2 + 2.0 * sum3)};
}

double ratio_at_saddle_point(double n, double t) {
    const double target = t - 0.5;
    const double target_others = n - t + 0.5;
    // Then x, which is near n^2 / (2 others), stays far above n.
    const bool nearly_all = target_others < n / 32.0;
    double x = nearly_all ? 0.5 * n * (n / target_others) : target / std::log1p(n / target);
    TableCumulants cumulants;
    for (int step = 0; step < 50; ++step) {
        cumulants = nearly_all ? cumulants_by_series(x, n, target_others)
                               : cumulants_by_digamma(x, n, target);
        const double move = std::clamp(-cumulants.above_target / cumulants.second, -1.0, 1.0);
        x *= std::exp(move);
        if (std::abs(move) < 1e-7) break;
    }
    if (!nearly_all)
        cumulants.third =
            third_cumulant_by_digamma(x, n, target + cumulants.above_target, cumulants.second);
    // At both ends of 1..n the tables, or the rows without one, are a Poisson number, of which the
    // saddle point knows the factorial by Stirling's formula only: put the factorial right.
    const double tables = t - 1.5;
    const double ends = (1.0 + 0.5 / tables) / (1.0 + 0.5 / target_others);
    const double skew = cumulants.third / (cumulants.second * cumulants.second);
    return x * ends * std::exp(0.5 * (skew - 1.0 / tables + 1.0 / target_others));
}

}  // namespace

StirlingRatios::StirlingRatios() {
    static const std::vector<double> table = build_table();
    table_ = table.data();
}

double StirlingRatios::beyond_table(std::int64_t n, std::int64_t t) {
    if (t > kExactTables)
        return ratio_at_saddle_point(static_cast<double>(n), static_cast<double>(t));
    if (cache_.empty()) cache_.resize(kCachedRows);
    auto& slot = cache_[static_cast<std::size_t>(n) % kCachedRows];
    if (slot.n != n) {
        fill_exact_row(n, slot.ratio);
        slot.n = n;
    }
    return slot.ratio[t];
}

}  // namespace priorwise
