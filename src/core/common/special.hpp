// Digamma and its relatives for positive arguments, to about 1e-12.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace priorwise {

// x (log(x) - digamma(x)) for x >= 8, by the asymptotic series; inverse = 1 / x, y = 1 / x^2.
inline double digamma_tail(double inverse, double y) {
    return 0.5 + inverse * (1.0 / 12 -
                            y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
}

inline double digamma_gap(double x) {
    const double inverse = 1.0 / x;
    return inverse * digamma_tail(inverse, inverse * inverse);
}

// 1/x + 1/(x+1) + ... until x reaches 8, as one fraction; x is moved.
inline double lift_to_eight(double& x) {
    double product = 1.0;
    double derivative = 0.0;
    while (x < 8.0) {
        derivative = derivative * x + product;
        product *= x;
        x += 1.0;
    }
    return derivative / product;
}

// The logarithm of a product of positive numbers below 1e150, with few logarithms.
class LogProduct {
  public:
    void multiply(double factor) {
        product_ *= factor;
        if (product_ > 1e150 || product_ < 1e-150) {
            log_ += std::log(product_);
            product_ = 1.0;
        }
    }
    double log() const { return log_ + std::log(product_); }

  private:
    double log_ = 0.0;
    double product_ = 1.0;
};

// The logarithm of the Gamma function; std::lgamma writes a global variable.
inline double log_gamma(double x) {
    double shift = 0.0;
    double product = 1.0;
    for (; x < 10.0; x += 1.0) {
        product *= x;
        if (product > 1e280 || product < 1e-280) {
            shift += std::log(product);
            product = 1.0;
        }
    }
    shift += std::log(product);
    const double inverse = 1.0 / x;
    const double square = inverse * inverse;
    const double series =
        inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
    return (x - 0.5) * std::log(x) - x + 0.91893853320467274178 + series - shift;
}

inline double digamma(double x) {
    const double lifted = lift_to_eight(x);
    return std::log(x) - digamma_gap(x) - lifted;
}

// exp(digamma(x)), the geometric mean of a Gamma(x) variate: no logarithm, and no exponential for
// x >= 8, where it is y + 1/(24 y) - 37/(5760 y^3) + ... with y = x - 1/2.
inline double exp_digamma(double x) {
    const double lifted = x < 8.0 ? lift_to_eight(x) : 0.0;
    const double y = x - 0.5;
    const double z = 1.0 / (y * y);
    const double series =
        y +
        (1.0 / 24 - z * (37.0 / 5760 - z * (10313.0 / 2903040 - z * (5509121.0 / 1393459200)))) / y;
    return lifted == 0.0 ? series : series * std::exp(-lifted);
}

// digamma(x + n) - digamma(x): 1/x + ... + 1/(x + n - 1) for whole n. One logarithm, no
// cancellation for small x.
inline double digamma_rise(double x, double n) {
    double top = x + n;
    const double lifted_top = lift_to_eight(top);
    const double lifted = lift_to_eight(x);
    return std::log(top / x) - digamma_gap(top) + digamma_gap(x) - lifted_top + lifted;
}

// trigamma(x) - 1/x - 1/(2 x^2) times x^3, for x >= 8, by the asymptotic series.
inline double trigamma_tail(double y) {
    return 1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * (5.0 / 66))));
}

// Sums of 1 / (x + i) and of 1 / (x + i)^2 until x reaches 8; x is moved. With P = x (x + 1) ...
// they are P' / P and (P' / P)^2 - P'' / P: one division in all.
inline std::pair<double, double> lift_with_squares(double& x) {
    if (x >= 8.0) return {0.0, 0.0};
    double p0 = 1.0, p1 = 0.0, p2 = 0.0;
    for (; x < 8.0; x += 1.0) {
        p2 = p2 * x + 2.0 * p1;
        p1 = p1 * x + p0;
        p0 *= x;
    }
    const double inverse = 1.0 / p0;
    return {p1 * inverse, inverse * (p1 * p1 * inverse - p2)};
}

inline double trigamma(double x) {
    const double sum = lift_with_squares(x).second;
    const double inverse = 1.0 / x;
    const double y = inverse * inverse;
    return sum + inverse + y * (0.5 + inverse * trigamma_tail(y));
}

// The derivative of trigamma.
inline double tetragamma(double x) {
    double sum = 0.0;
    for (; x < 8.0; x += 1.0) sum -= 2.0 / (x * x * x);
    const double y = 1.0 / (x * x);
    return sum - y - y / x -
           y * y * (0.5 - y * (1.0 / 6 - y * (1.0 / 6 - y * (3.0 / 10 - y * (5.0 / 6)))));
}

// Mean and variance of the number of tables when n rows sit down with concentration a: a sum of
// independent coins of probability a / (a + i), i < n, continued to real n:
//
//     mean = a (digamma(a + n) - digamma(a)),  variance = mean + a^2 (trigamma(a + n) -
//     trigamma(a))
struct TableMoments {
    double mean;
    double variance;
};

inline TableMoments table_moments(double a, double n) {
    if (n <= 12.0 && n == std::floor(n)) {
        // With P = (a + 1) ... (a + n - 1): the sum of a / (a + i) is a P' / P, and that of its
        // squares a^2 ((P' / P)^2 - P'' / P). One division instead of n.
        double p0 = 1.0, p1 = 0.0, p2 = 0.0;
        for (double x = a + 1.0; x < a + n - 0.5; x += 1.0) {
            p2 = p2 * x + 2.0 * p1;
            p1 = p1 * x + p0;
            p0 *= x;
        }
        const double scale = a / p0;
        const double rest = p1 * scale;
        const double squares = scale * (p1 * p1 * scale - a * p2);
        return {1.0 + rest, std::max(0.0, rest - squares)};
    }
    // The same sums move both arguments above 8, where the asymptotic series hold.
    double bottom = a;
    double top = a + n;
    double rise = 0.0;
    double rise1 = 0.0;
    for (auto [end, sign] : {std::pair{&bottom, 1.0}, std::pair{&top, -1.0}}) {
        const auto sums = lift_with_squares(*end);
        const double inverse = 1.0 / *end;
        const double y = inverse * inverse;
        rise += sign * (sums.first + inverse * digamma_tail(inverse, y));
        rise1 -= sign * (sums.second + inverse + y * (0.5 + inverse * trigamma_tail(y)));
    }
    const double mean = a * (std::log(top / bottom) + rise);
    return {mean, mean + a * a * rise1};
}

}  // namespace priorwise
