#include "processes/stirling.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "common/special.hpp"

namespace priorwise {
namespace {

constexpr std::size_t kCachedRows = 4096, kCachedFollowedRows = 256;
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

using Complex = std::complex<double>;

constexpr std::int64_t kFewOthers = 64;

// [z^n] g(z)^t, g(z) = (1 - (1 - z)^a) / a, and that of g^(t - 1) divided by it.
struct Coefficient {
    double logarithm;
    double ratio;
};

// Where z g'(z) / g(z) = n / t: -log z, and the second derivative of t log g by log z.
struct SaddlePoint {
    double place;
    double curve;
};

SaddlePoint find_saddle_point(double a, double n, double t) {
    const double wanted = std::log(n / t);
    // With u = 1 - z = exp(w), z g' / g = a (1 - u) u^(a - 1) / (1 - u^a), which is about
    // a u^(a - 1) for small u.
    double w = -std::max(1e-300, (wanted - std::log(a)) / (1.0 - a));
    if (!(w < -1e-3)) w = -2.0 * std::expm1(wanted) / (1.0 - a);
    const auto slope_at = [a](double at) {
        return -std::exp(at) / -std::expm1(at) + (a - 1.0) +
               a * std::exp(a * at) / -std::expm1(a * at);
    };
    for (int step = 0; step < 100; ++step) {
        const double value = std::log(a) + std::log(-std::expm1(w)) + (a - 1.0) * w -
                             std::log(-std::expm1(a * w)) - wanted;
        const double next = std::clamp(w - value / slope_at(w), 2.0 * w, 0.5 * w);
        const bool done = std::abs(next - w) <= 1e-14 * std::abs(w);
        w = next;
        if (done) break;
    }
    const double z = -std::expm1(w);
    return {-std::log(z), n * -slope_at(w) * z * std::exp(-w)};
}

Complex expm1(Complex x) {
    const double half = std::sin(0.5 * x.imag());
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2.0 * half * half,
            std::exp(x.real()) * std::sin(x.imag())};
}

Complex log1p(Complex x) {
    if (std::abs(x) > 0.5) return std::log(1.0 + x);
    return {0.5 * std::log1p(2.0 * x.real() + std::norm(x)), std::atan2(x.imag(), 1.0 + x.real())};
}

// log(g(z) / z) at z = exp(-q).
Complex log_g_over_z(double a, Complex q) {
    const Complex z = std::exp(-q);
    if (q.real() > 7.0)
        return log1p(z * (1.0 - a) * (0.5 + z * (2.0 - a) * (1.0 / 6 + z * (3.0 - a) / 24.0)));
    const Complex log_u = std::abs(z) < 0.5 ? log1p(-z) : std::log(-expm1(-q));
    return std::log(-expm1(a * log_u) / a) + q;
}

// Cauchy's integral of g^t / z^(n + 1) along q = -log z = q0 + s (i x - b x^2), which passes the
// saddle point and, if that is closer than 1 / n to the branch point q = 0, at the distance 1 / n.
// The contour bends around the cut where q < 0; the trapezoidal rule has 8 digits.
Coefficient integrate(double a, double n, double t) {
    constexpr double step = 0.25;
    constexpr int most_steps = 400;
    const auto saddle = find_saddle_point(a, n, t);
    const double q0 = std::max(saddle.place, 1.0 / n);
    const double s = q0 > saddle.place ? q0 : std::min(q0, 1.0 / std::sqrt(saddle.curve));
    const double bend = 0.5 * s / q0;
    const double start = log_g_over_z(a, q0).real();
    double sum = 0.0;
    double sum_below = 0.0;
    for (int i = 0; i < most_steps; ++i) {
        const double x = i * step;
        const Complex move = s * Complex(-bend * x * x, x);
        const Complex log_ratio = log_g_over_z(a, q0 + move);
        const Complex term = std::exp(t * (log_ratio - start) + (n - t) * move) *
                             Complex(1.0, 2.0 * bend * x) * (i == 0 ? 0.5 : 1.0);
        sum += term.real();
        sum_below += (term * std::exp(q0 + move - log_ratio)).real();
        if (std::abs(term) < 1e-10 * std::abs(sum)) break;
    }
    return {t * start + (n - t) * q0 + std::log(sum * step * s / std::numbers::pi),
            sum_below / sum};
}

// log [z^others] (g(z) / z)^t by the recurrence for powers of a series, with z / t in the place of
// z so that numbers stay small.
double log_coefficient_near_end(double a, double t, std::int64_t others) {
    std::array<double, kFewOthers + 2> b, c;
    b[0] = c[0] = 1.0;
    for (std::int64_t m = 1; m <= others; ++m) {
        const auto x = static_cast<double>(m);
        b[m] = b[m - 1] * (x - a) / (x + 1.0) / t;
        c[m] = 0.0;
        for (std::int64_t j = 1; j <= m; ++j)
            c[m] += ((t + 1.0) * static_cast<double>(j) - x) * b[j] * c[m - j];
        c[m] /= x;
    }
    return std::log(c[others]) + static_cast<double>(others) * std::log(t);
}

Coefficient find_coefficient(double a, std::int64_t n, std::int64_t t) {
    const auto k = static_cast<double>(t);
    if (n - t > kFewOthers) return integrate(a, static_cast<double>(n), k);
    const double log_c = log_coefficient_near_end(a, k, n - t);
    return {log_c, std::exp(log_coefficient_near_end(a, k - 1.0, n - t + 1) - log_c)};
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

DiscountedStirling::DiscountedStirling(double discount, std::int64_t most_rows)
    : discount_(discount) {
    const auto n_rows = std::clamp<std::int64_t>(most_rows, 1, kTableRows);
    table_.resize(static_cast<std::size_t>(n_rows * (n_rows + 1) / 2));
    for (std::int64_t n = 1; n < n_rows; ++n) {
        const double* now = table_.data() + n * (n - 1) / 2 - 1;
        double* next = table_.data() + n * (n + 1) / 2 - 1;
        const auto x = static_cast<double>(n);
        next[1] = 0.0;
        for (std::int64_t t = 2; t <= n; ++t) {
            const auto k = static_cast<double>(t);
            next[t] =
                now[t] * (now[t - 1] + x - discount * (k - 1.0)) / (now[t] + x - discount * k);
        }
        next[n + 1] = now[n] + x * (1.0 - discount);
    }
}

// Runge and Kutta's method of fourth order in log n. The difference from n to n + 1 is the
// derivative half way between.
void DiscountedStirling::follow(double n, std::array<double, kFollowed + 1>& ratio) const {
    using Row = std::array<double, kFollowed + 1>;
    constexpr double longest = 0.1;
    const auto first = static_cast<double>(kTableRows);
    ratio[0] = 0.0;
    for (std::int64_t t = 1; t <= kFollowed; ++t)
        ratio[t] = table_[static_cast<std::size_t>(kTableRows * (kTableRows - 1) / 2 + t - 1)];
    // Longer steps would be unstable: V falls at a rate of about V.
    const double distance = std::log(n / first);
    const double step_length = std::min(longest, 1.0 / (1.0 + ratio[kFollowed]));
    const int n_steps = std::max(1, static_cast<int>(std::ceil(distance / step_length)));
    const double h = distance / n_steps;
    const auto slope = [&](double rows, const Row& v, Row& result) {
        result[0] = result[1] = 0.0;
        for (std::int64_t t = 2; t <= kFollowed; ++t)
            result[t] = rows * v[t] * (discount_ + v[t - 1] - v[t]) /
                        (v[t] + rows - 0.5 - discount_ * static_cast<double>(t));
    };
    Row k1, k2, k3, k4, v;
    const auto ahead = [&](const Row& k, double part) {
        for (std::int64_t t = 0; t <= kFollowed; ++t) v[t] = ratio[t] + part * k[t];
    };
    for (int step = 0; step < n_steps; ++step) {
        const double rows = first * std::exp(h * step);
        slope(rows, ratio, k1);
        ahead(k1, 0.5 * h);
        slope(rows * std::exp(0.5 * h), v, k2);
        ahead(k2, 0.5 * h);
        slope(rows * std::exp(0.5 * h), v, k3);
        ahead(k3, h);
        slope(rows * std::exp(h), v, k4);
        for (std::int64_t t = 2; t <= kFollowed; ++t)
            ratio[t] += h / 6.0 * (k1[t] + 2.0 * k2[t] + 2.0 * k3[t] + k4[t]);
    }
}

const double* DiscountedStirling::followed_row(std::int64_t n) {
    if (cache_.empty()) cache_.resize(kCachedFollowedRows);
    auto& slot = cache_[static_cast<std::size_t>(n) % kCachedFollowedRows];
    if (slot.n != n) {
        follow(static_cast<double>(n), slot.ratio);
        slot.n = n;
    }
    return slot.ratio.data();
}

double DiscountedStirling::beyond_table(std::int64_t n, std::int64_t t) {
    if (t <= kFollowed) return followed_row(n)[t];
    return static_cast<double>(t) * find_coefficient(discount_, n, t).ratio;
}

double DiscountedStirling::log_number(std::int64_t n, std::int64_t t) {
    if (t >= n) return 0.0;
    if (n > kTableRows) return find_coefficient(discount_, n, t).logarithm;
    const double* ratio = table_.data() + n * (n - 1) / 2 - 1;
    LogProduct product;
    for (std::int64_t s = 2; s <= t; ++s) product.multiply(ratio[s]);
    const auto rows = static_cast<double>(n);
    return log_gamma(rows - discount_) - log_gamma(1.0 - discount_) - product.log();
}

}  // namespace priorwise
