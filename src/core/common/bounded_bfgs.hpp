// Minimise a smooth function of a few variables in a box.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace priorwise {

struct Box {
    double low;
    double high;
};

// Quasi-Newton (BFGS) with steps projected onto the box; a variable that a step would move beyond
// its bound stays at the bound. f(x, gradient) returns the value. x starts at the start and ends at
// the minimum found; every accepted step lowers f. O(n^2) a step beside f itself.
template <class Function>
double minimise_in_box(Function&& f, Box box, std::vector<double>& x, int max_steps = 100,
                       double tolerance = 1e-9) {
    const std::size_t n = x.size();
    std::vector<double> gradient(n), step(n), trial(n), trial_gradient(n);
    std::vector<double> inverse(n * n);  // of the Hessian, approximately
    const auto reset = [&] {
        std::ranges::fill(inverse, 0.0);
        for (std::size_t i = 0; i < n; ++i) inverse[i * n + i] = 1.0;
    };
    reset();
    double value = f(x, gradient);
    bool fresh = true;
    for (int iteration = 0; iteration < max_steps; ++iteration) {
        const auto rests = [&](std::size_t i) {
            return (x[i] <= box.low && gradient[i] > 0.0) ||
                   (x[i] >= box.high && gradient[i] < 0.0);
        };
        double slope = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            step[i] = 0.0;
            if (rests(i)) continue;
            for (std::size_t j = 0; j < n; ++j)
                if (!rests(j)) step[i] -= inverse[i * n + j] * gradient[j];
            slope += step[i] * gradient[i];
        }
        if (slope >= 0.0) {
            if (fresh) break;
            reset();
            fresh = true;
            continue;
        }
        // Halve the step until f falls by a fixed share of what the slope predicts. Without
        // knowledge of the curvature the first try is a step of length one.
        double scale = fresh ? 1.0 / std::sqrt(-slope) : 1.0;
        double trial_value = value;
        double promised = 0.0;
        for (int halving = 0; halving < 40; ++halving, scale *= 0.5) {
            promised = 0.0;
            for (std::size_t i = 0; i < n; ++i) {
                trial[i] = std::clamp(x[i] + scale * step[i], box.low, box.high);
                promised += gradient[i] * (trial[i] - x[i]);
            }
            trial_value = f(trial, trial_gradient);
            if (trial_value <= value + 1e-4 * promised) break;
        }
        if (!(trial_value < value)) {
            if (fresh) break;
            reset();
            fresh = true;
            continue;
        }
        // The BFGS update of the inverse, where the curvature along the step is positive.
        std::vector<double> s(n), y(n), hy(n, 0.0);
        double sy = 0.0, yhy = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            s[i] = trial[i] - x[i];
            y[i] = trial_gradient[i] - gradient[i];
            sy += s[i] * y[i];
        }
        if (sy > 1e-14) {
            if (fresh) {
                double yy = 0.0;
                for (const double v : y) yy += v * v;
                for (auto& v : inverse) v *= sy / yy;
            }
            for (std::size_t i = 0; i < n; ++i) {
                for (std::size_t j = 0; j < n; ++j) hy[i] += inverse[i * n + j] * y[j];
                yhy += y[i] * hy[i];
            }
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                    inverse[i * n + j] +=
                        (1.0 + yhy / sy) * s[i] * s[j] / sy - (hy[i] * s[j] + s[i] * hy[j]) / sy;
            fresh = false;
        }
        const double fall = value - trial_value;
        x.swap(trial);
        gradient.swap(trial_gradient);
        value = trial_value;
        if (fall <= tolerance * (std::abs(value) + tolerance)) break;
    }
    return value;
}

}  // namespace priorwise
