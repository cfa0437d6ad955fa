// Digamma and its relatives for positive arguments, to about 1e-12.
#pragma once

#include <cmath>

namespace priorwise {

// log(x) - digamma(x) for x >= 8, by the asymptotic series.
inline double digamma_gap(double x) {
    const double y = 1.0 / (x * x);
    return 0.5 / x +
           y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
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

inline double digamma(double x) {
    const double lifted = lift_to_eight(x);
    return std::log(x) - digamma_gap(x) - lifted;
}

// digamma(x + n) - digamma(x): 1/x + ... + 1/(x + n - 1) for whole n. One logarithm, no cancellation
// for small x.
inline double digamma_rise(double x, double n) {
    double top = x + n;
    const double lifted_top = lift_to_eight(top);
    const double lifted = lift_to_eight(x);
    return std::log(top / x) - digamma_gap(top) + digamma_gap(x) - lifted_top + lifted;
}

inline double trigamma(double x) {
    double sum = 0.0;
    for (; x < 8.0; x += 1.0) sum += 1.0 / (x * x);
    const double y = 1.0 / (x * x);
    return sum + 1.0 / x + 0.5 * y +
           y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * (5.0 / 66)))));
}

// The derivative of trigamma.
inline double tetragamma(double x) {
    double sum = 0.0;
    for (; x < 8.0; x += 1.0) sum -= 2.0 / (x * x * x);
    const double y = 1.0 / (x * x);
    return sum - y - y / x -
           y * y * (0.5 - y * (1.0 / 6 - y * (1.0 / 6 - y * (3.0 / 10 - y * (5.0 / 6)))));
}

}  // namespace priorwise
