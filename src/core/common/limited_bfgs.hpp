// Minimise a smooth convex function of many variables.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/dot.hpp"

namespace priorwise {

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
        return priorwise::dot(a.data(), b.data(), static_cast<std::int32_t>(a.size()));
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
            for (std::size_t i = 0; i < q.size(); ++i) q[i] -= along[j] * steps_[j].y[i];
        }
        const double scale = start_scale();
        for (std::size_t i = 0; i < q.size(); ++i) q[i] *= scale * start_inverse_[i];
        for (std::size_t j = 0; j < steps_.size(); ++j) {
            const double back = dot(steps_[j].y, q) / steps_[j].sy;
            for (std::size_t i = 0; i < q.size(); ++i) q[i] += (along[j] - back) * steps_[j].s[i];
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
