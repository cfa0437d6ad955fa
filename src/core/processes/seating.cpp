#include "processes/seating.hpp"

#include <algorithm>
#include <cmath>

namespace priorwise {
namespace {

// One more row, or a part of one, with i rows seated. Z(i + 1) = Z(i) (x + i - a mean(i)), and mean
// and variance follow by derivatives; the third cumulant is that of 1 + a binomial number.
struct SeatingStep {
    double x;
    double a;
    Seating seating;

    void add(double i, double rows) {
        auto& [mean, variance, log_z] = seating;
        const double weight = x + i - a * mean;
        const double others = mean - 1.0;
        const double third = others > 1e-12 ? variance * (2.0 * variance / others - 1.0) : 0.0;
        const double opening = (x - a * variance) / weight;
        const double bend = (x - a * third) / weight - opening * opening;
        log_z += rows * std::log(weight);
        mean += rows * opening;
        variance = std::max(0.0, variance + rows * bend);
    }
};

}  // namespace

Seating seat_rows(double x, double n, double a) {
    constexpr double n_single = 256.0;
    constexpr double growth = 0.05;
    if (n <= 1.0) return {n, 0.0, n * std::log(x)};
    SeatingStep step{x, a, {1.0, 0.0, std::log(x)}};
    double i = 1.0;
    for (; i + 1.0 <= std::min(n, n_single); i += 1.0) step.add(i, 1.0);
    while (i < n) {
        const double rows = i < n_single ? n - i : std::min(n - i, growth * i);
        if (rows <= 1.0) {
            step.add(i, rows);
        } else {
            // Many rows at once, with the weights half way; a sum over i, i + 1, ..., i + rows - 1
            // is an integral from i - 1/2 on.
            SeatingStep half = step;
            half.add(i + 0.25 * (rows - 1.0), 0.5 * rows);
            const double middle = i + 0.5 * (rows - 1.0);
            const double weight = x + middle - a * half.seating.mean;
            const double opening = (x - a * half.seating.variance) / weight;
            const double others = half.seating.mean - 1.0;
            const double v = half.seating.variance;
            const double third = others > 1e-12 ? v * (2.0 * v / others - 1.0) : 0.0;
            step.seating.log_z += rows * std::log(weight);
            step.seating.mean += rows * opening;
            step.seating.variance = std::max(
                0.0, step.seating.variance + rows * ((x - a * third) / weight - opening * opening));
        }
        i += rows;
    }
    return step.seating;
}

}  // namespace priorwise
