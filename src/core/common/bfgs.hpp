// Minimisers of smooth functions: of a few variables in a box, and of many variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/fast_sums.hpp"

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

// Limited-memory BFGS: the Hessian is approximated from the last few steps and changes of the
// gradient, starting from `start_inverse`, the inverse of its diagonal, times the factor that
// agrees best with the last step. f(x, gradient) returns the value and writes the gradient. x
// starts at the start and ends at the minimum found; every step lowers f. Ends when a step is
// expected to lower f, or three in a row lower it, by less than tolerance * (1 + |f|).
class LimitedBfgs {
  public:
    LimitedBfgs(std::span<const double> start_inverse, double tolerance, int max_steps = 300)
        : start_inverse_(start_inverse), tolerance_(tolerance), max_steps_(max_steps) {}

    template <class Function>
    double minimise(Function&& f, std::vector<double>& x) {
        const std::size_t n = x.size();
        std::vector<double> gradient(n), before(n), trial(n);
        double value = f(x, gradient);
        int n_small = 0;
        for (int step = 0; step < max_steps_ && n_small < 3; ++step) {
            const auto direction = apply_inverse(gradient);
            const double slope = -dot(direction, gradient);
            const double small = tolerance_ * (1.0 + std::abs(value));
            if (-slope <= small) break;
            before = gradient;
            double scale = 1.0, trial_value = value;
            for (int halving = 0; halving < 30; ++halving, scale *= 0.5) {
                for (std::size_t i = 0; i < n; ++i) trial[i] = x[i] - scale * direction[i];
                trial_value = f(trial, gradient);
                if (trial_value <= value + 1e-4 * scale * slope) break;
            }
            if (!(trial_value < value)) break;
            remember(x, trial, before, gradient);
            n_small = value - trial_value <= small ? n_small + 1 : 0;
            x = trial;
            value = trial_value;
        }
        return value;
    }

  private:
    static constexpr std::size_t kMemory = 12;

    struct Step {
        std::vector<double> s, y;  // how the variables and the gradient moved
        double sy;
    };

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return sum_products(a.data(), b.data(), a.size());
    }

    void remember(const std::vector<double>& from, const std::vector<double>& to,
                  const std::vector<double>& gradient_from,
                  const std::vector<double>& gradient_to) {
        Step taken{std::vector<double>(from.size()), std::vector<double>(from.size()), 0.0};
        for (std::size_t i = 0; i < from.size(); ++i) {
            taken.s[i] = to[i] - from[i];
            taken.y[i] = gradient_to[i] - gradient_from[i];
        }
        taken.sy = dot(taken.s, taken.y);
        if (!(taken.sy > 0.0)) return;
        if (steps_.size() == kMemory) steps_.erase(steps_.begin());
        steps_.push_back(std::move(taken));
    }

    // The two-loop recursion.
    std::vector<double> apply_inverse(const std::vector<double>& gradient) const {
        std::vector<double> q = gradient;
        std::vector<double> along(steps_.size());
        for (std::size_t j = steps_.size(); j-- > 0;) {
            along[j] = dot(steps_[j].s, q) / steps_[j].sy;
            add_scaled(steps_[j].y.data(), -along[j], q.size(), q.data());
        }
        const double scale = start_scale();
        for (std::size_t i = 0; i < q.size(); ++i) q[i] *= scale * start_inverse_[i];
        for (std::size_t j = 0; j < steps_.size(); ++j) {
            const double back = dot(steps_[j].y, q) / steps_[j].sy;
            add_scaled(steps_[j].s.data(), along[j] - back, q.size(), q.data());
        }
        return q;
    }

    // s'y / y'Dy of the last step, D being the start of the inverse.
    double start_scale() const {
        if (steps_.empty()) return 1.0;
        const auto& last = steps_.back();
        double sum = 0.0;
        for (std::size_t i = 0; i < last.y.size(); ++i)
            sum += start_inverse_[i] * last.y[i] * last.y[i];
        return last.sy / sum;
    }

    std::span<const double> start_inverse_;
    double tolerance_;
    int max_steps_;
    std::vector<Step> steps_;
};

}  // namespace priorwise
