#include "processes/discounted_stirling.hpp"

#include <algorithm>
#include <cmath>

#include "common/special.hpp"

namespace priorwise {
namespace {

constexpr std::size_t kCachedRows = 256;

// Where z g'(z) / g(z) = n / k, as w = log(1 - z), and what is needed there.
struct SaddlePoint {
    double w;          // log(1 - z), below zero
    double log_g;      // log g(z)
    double log_curve;  // log of the second derivative of k log g(e^s) by s, without a factor n
};

SaddlePoint find_saddle_point(double a, double n, double k) {
    const double wanted = std::log(n / k);
    // z g' / g = a (1 - u) u^(a - 1) / (1 - u^a), which is about a u^(a - 1) for small u.
    double w = -std::max(1e-300, (wanted - std::log(a)) / (1.0 - a));
    if (!(w < -1e-3)) w = -2.0 * std::expm1(wanted) / (1.0 - a);
    double slope = 0.0;
    for (int step = 0; step < 100; ++step) {
        const double rest = -std::expm1(w);        // 1 - u
        const double rest_a = -std::expm1(a * w);  // 1 - u^a
        const double value =
            std::log(a) + std::log(rest) + (a - 1.0) * w - std::log(rest_a) - wanted;
        slope = -std::exp(w) / rest + (a - 1.0) + a * std::exp(a * w) / rest_a;
        double next = w - value / slope;
        next = std::clamp(next, 2.0 * w, 0.5 * w);
        const bool done = std::abs(next - w) <= 1e-14 * std::abs(w);
        w = next;
        if (done) break;
    }
    const double rest = -std::expm1(w);
    const double rest_a = -std::expm1(a * w);
    slope = -std::exp(w) / rest + (a - 1.0) + a * std::exp(a * w) / rest_a;
    return {w, std::log(rest_a / a), std::log(-slope) + std::log(rest) - w};
}

// log S_a(n, k) by the saddle point, but for terms that do not depend on a.
double log_at_saddle_point(double a, double n, double k) {
    const auto point = find_saddle_point(a, n, k);
    return k * point.log_g - n * std::log(-std::expm1(point.w)) - 0.5 * point.log_curve;
}

// log Gamma(n - a) but for terms that do not depend on a.
double log_gamma_below(double n, double a) {
    if (n < 1e4) return log_gamma(n - a);
    return -a * std::log(n) + 0.5 * a * (a + 1.0) / n;
}

}  // namespace

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
    if (cache_.empty()) cache_.resize(kCachedRows);
    auto& slot = cache_[static_cast<std::size_t>(n) % kCachedRows];
    if (slot.n != n) {
        follow(static_cast<double>(n), slot.ratio);
        slot.n = n;
    }
    return slot.ratio.data();
}

double DiscountedStirling::beyond_table(std::int64_t n, std::int64_t t) {
    const auto rows = static_cast<double>(n);
    const auto k = static_cast<double>(t);
    if (t == n) return 0.5 * rows * (rows - 1.0) * (1.0 - discount_);
    if (t <= kFollowed) return followed_row(n)[t];
    // log of [z^n] g^k = k log g - n log z - log(curve) / 2 at its saddle point. The derivative by
    // k of the first two terms is log g, taken half way.
    const auto below = find_saddle_point(discount_, rows, k - 1.0);
    const auto middle = find_saddle_point(discount_, rows, k - 0.5);
    const auto above = find_saddle_point(discount_, rows, k);
    // Rows without a table of their own are nearly a Poisson number where they are few; the saddle
    // point knows its factorial by Stirling's formula only.
    const double others = rows - k;
    const double end = (others + 0.5) / std::sqrt(others * (others + 1.0));
    return k * end * std::exp(-middle.log_g + 0.5 * (above.log_curve - below.log_curve));
}

double DiscountedStirling::log_number(std::int64_t n, std::int64_t t) {
    if (t >= n) return 0.0;
    const auto rows = static_cast<double>(n);
    double result = log_gamma_below(rows, discount_) - log_gamma(1.0 - discount_);
    const bool in_table = n <= kTableRows;
    const double* ratio = in_table ? table_.data() + n * (n - 1) / 2 - 1 : followed_row(n);
    LogProduct product;
    for (std::int64_t s = 2; s <= (in_table ? t : std::min(t, kFollowed)); ++s)
        product.multiply(ratio[s]);
    result -= product.log();
    if (in_table || t <= kFollowed) return result;
    return result + log_at_saddle_point(discount_, rows, static_cast<double>(t)) -
           log_at_saddle_point(discount_, rows, static_cast<double>(kFollowed));
}

}  // namespace priorwise
