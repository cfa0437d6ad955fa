#include "linear/fits.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/bfgs.hpp"
#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"
#include "linear/two_classes.hpp"

namespace priorwise {
namespace {

// With more parameters than this the Hessian costs more than it saves.
constexpr std::size_t kMaxNewton = 32;

// The lower half of the matrix gains weight x deviation x deviation^T.
PRIORWISE_WIDE void add_outer_product(const double* __restrict deviation, std::size_t n,
                                      double weight, double* __restrict matrix) {
    for (std::size_t i = 0; i < n; ++i, matrix += n) {
        const double scaled = weight * deviation[i];
        if (scaled == 0.0) continue;
        for (std::size_t j = 0; j <= i; ++j) matrix[j] += scaled * deviation[j];
    }
}

// The inner product of coefficients with the features of each class, which lie one after the other.
PRIORWISE_WIDE void dot_classes(std::span<const float> coefficient, const float* features,
                                std::span<double> products) {
    const auto n = static_cast<std::int32_t>(coefficient.size());
    for (auto& product : products) {
        product = dot(coefficient.data(), features, n);
        features += n;
    }
}

// The scores of classes become probabilities; returns log p of one of them.
PRIORWISE_WIDE double take_softmax(std::span<double> score, std::size_t y) {
    double largest = score[0], sum = 0.0;
    for (const double one : score) largest = std::max(largest, one);
    const double own = score[y] - largest;
    for (auto& one : score) one = exp_of_minus(largest - one);
    for (const double one : score) sum += one;
    for (auto& one : score) one /= sum;
    return own - std::log(sum);
}

// The sum gains scale x terms.
PRIORWISE_WIDE void add_terms(double scale, const float* terms, std::int32_t n,
                              double* __restrict sum) {
    for (std::int32_t i = 0; i < n; ++i) sum[i] += scale * terms[i];
}

class ConditionalFit {
  public:
    ConditionalFit(const ConditionalRows& rows, const Ridge& ridge)
        : rows_(rows),
          ridge_(ridge),
          n_(static_cast<std::size_t>(rows.n_features + rows.n_classes)),
          value_(ridge.centre.begin(), ridge.centre.end()),
          gradient_(n_),
          hessian_(n_ <= kMaxNewton ? n_ * n_ : 0),
          diagonal_(n_),
          score_(static_cast<std::size_t>(rows.n_classes)),
          mean_(n_),
          deviation_(n_),
          coefficient_(static_cast<std::size_t>(rows.n_features)) {
        if (rows.n_classes == 2) two_classes_.emplace(rows);
    }

    std::vector<double> fit(double tolerance) {
        if (n_ <= kMaxNewton)
            take_newton_steps(25, tolerance);
        else
            take_quasi_newton_steps(tolerance);
        return value_;
    }

  private:
    void take_newton_steps(int max_steps, double tolerance) {
        double cost = add_up(value_, Derivatives::kHessian);
        for (int step = 0; step < max_steps; ++step) {
            const auto direction = solve();
            double slope = 0.0;
            for (std::size_t i = 0; i < n_; ++i) slope -= direction[i] * gradient_[i];
            if (-slope <= tolerance * (1.0 + std::abs(cost))) break;
            std::vector<double> trial(n_);
            double scale = 1.0, trial_cost = cost;
            for (int halving = 0; halving < 30; ++halving, scale *= 0.5) {
                for (std::size_t i = 0; i < n_; ++i) trial[i] = value_[i] - scale * direction[i];
                // Most steps are taken as they are: their derivatives are needed next.
                trial_cost = add_up(trial, Derivatives::kHessian);
                if (trial_cost <= cost + 1e-4 * scale * slope) break;
            }
            if (!(trial_cost < cost)) break;
            value_ = trial;
            cost = trial_cost;
        }
    }

    void take_quasi_newton_steps(double tolerance) {
        add_up(value_, Derivatives::kDiagonal);
        std::vector<double> start_inverse(n_);
        for (std::size_t i = 0; i < n_; ++i) start_inverse[i] = 1.0 / std::max(diagonal_[i], 1e-9);
        LimitedBfgs(start_inverse, tolerance)
            .minimise(
                [&](const std::vector<double>& at, std::vector<double>& gradient) {
                    const double cost = add_up(at, Derivatives::kGradient);
                    gradient = gradient_;
                    return cost;
                },
                value_);
    }

    // The cost at the parameters; fills gradient_, diagonal_ and the lower half of hessian_ if
    // asked to.
    double add_up(std::span<const double> at, Derivatives derivatives) {
        double cost = two_classes_
                          ? two_classes_->add_up(at, derivatives, gradient_, diagonal_, hessian_)
                          : add_rows(at, derivatives);
        for (std::size_t i = 0; i < n_; ++i) {
            const double off = at[i] - ridge_.centre[i];
            cost += 0.5 * ridge_.penalty[i] * off * off;
            gradient_[i] += ridge_.penalty[i] * off;
            diagonal_[i] += ridge_.penalty[i];
            if (derivatives == Derivatives::kHessian) hessian_[i * n_ + i] += ridge_.penalty[i];
        }
        return cost;
    }

    double add_rows(std::span<const double> at, Derivatives derivatives) {
        asked_ = derivatives;
        std::copy_n(at.begin(), coefficient_.size(), coefficient_.begin());
        std::ranges::fill(gradient_, 0.0);
        std::ranges::fill(diagonal_, 0.0);
        if (asked_ == Derivatives::kHessian) std::ranges::fill(hessian_, 0.0);
        double cost = 0.0;
        for (std::int64_t row = 0; row < rows_.n_rows; ++row) {
            poll_every<64>(row);
            const double weight = rows_.row_weight ? rows_.row_weight[row] : 1.0;
            if (weight == 0.0) continue;
            cost -= weight * score_row(row, at);
            if (asked_ == Derivatives::kGradient)
                add_gradient(row, weight);
            else
                add_row(row, weight);
        }
        return cost;
    }

    const float* features(std::int64_t row, std::int32_t y) const {
        return rows_.features + (row * rows_.n_classes + y) * rows_.n_features;
    }

    // score_ becomes the probabilities of the classes; returns log p of the row's class.
    double score_row(std::int64_t row, std::span<const double> at) {
        dot_classes(coefficient_, features(row, 0), score_);
        for (std::int32_t y = 0; y < rows_.n_classes; ++y)
            score_[y] += rows_.offset[y] + at[rows_.n_features + y];
        return take_softmax(score_, static_cast<std::size_t>(rows_.y[row]));
    }

    // gradient += sum_y (p_y - [y is the row's]) f_y.
    void add_gradient(std::int64_t row, double weight) {
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            const double miss = weight * (score_[y] - (y == rows_.y[row] ? 1.0 : 0.0));
            // The term of a class of nearly zero probability is negligible.
            if (std::abs(miss) < 1e-7 * weight) continue;
            const float* f = features(row, y);
            add_terms(miss, f, rows_.n_features, gradient_.data());
            gradient_[rows_.n_features + y] += miss;
        }
    }

    // The same, and
    // hessian += sum_y p_y (f_y - mean)(f_y - mean)^T.
    void add_row(std::int64_t row, double weight) {
        const auto own = rows_.y[row];
        std::ranges::fill(mean_, 0.0);
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            const float* f = features(row, y);
            add_terms(score_[y], f, rows_.n_features, mean_.data());
            mean_[rows_.n_features + y] = score_[y];
        }
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            // The term of a class of nearly zero probability is negligible.
            if (score_[y] < 1e-6 && y != own) continue;
            const float* f = features(row, y);
            for (std::int32_t p = 0; p < rows_.n_features; ++p) deviation_[p] = f[p] - mean_[p];
            for (std::int32_t c = 0; c < rows_.n_classes; ++c)
                deviation_[rows_.n_features + c] = (c == y ? 1.0 : 0.0) - score_[c];
            add_curvature(weight * score_[y]);
            if (y == own)
                for (std::size_t i = 0; i < n_; ++i) gradient_[i] -= weight * deviation_[i];
        }
    }

    void add_curvature(double weight) {
        if (asked_ == Derivatives::kDiagonal)
            for (std::size_t i = 0; i < n_; ++i)
                diagonal_[i] += weight * deviation_[i] * deviation_[i];
        if (asked_ != Derivatives::kHessian) return;
        add_outer_product(deviation_.data(), n_, weight, hessian_.data());
    }

    // hessian^-1 gradient by Cholesky; a vanishing pivot leaves its parameter where it is.
    std::vector<double> solve() {
        for (std::size_t i = 0; i < n_; ++i) {
            double* line = hessian_.data() + i * n_;
            for (std::size_t j = 0; j <= i; ++j) {
                const double* other = hessian_.data() + j * n_;
                double sum = line[j];
                for (std::size_t k = 0; k < j; ++k) sum -= line[k] * other[k];
                if (j < i)
                    line[j] = other[j] > 0.0 ? sum / other[j] : 0.0;
                else
                    line[i] = sum > 1e-12 ? std::sqrt(sum) : 0.0;
            }
        }
        std::vector<double> x(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            const double* line = hessian_.data() + i * n_;
            double sum = gradient_[i];
            for (std::size_t k = 0; k < i; ++k) sum -= line[k] * x[k];
            x[i] = line[i] > 0.0 ? sum / line[i] : 0.0;
        }
        for (std::size_t i = n_; i-- > 0;) {
            const double pivot = hessian_[i * n_ + i];
            x[i] = pivot > 0.0 ? x[i] / pivot : 0.0;
            for (std::size_t k = 0; k < i; ++k) x[k] -= hessian_[i * n_ + k] * x[i];
        }
        return x;
    }

    const ConditionalRows& rows_;
    const Ridge& ridge_;
    std::size_t n_;
    Derivatives asked_ = Derivatives::kGradient;
    std::vector<double> value_, gradient_, hessian_, diagonal_, score_, mean_, deviation_;
    std::vector<float> coefficient_;
    std::optional<TwoClassSums> two_classes_;
};

}  // namespace

std::vector<double> fit_conditional(const ConditionalRows& rows, const Ridge& ridge,
                                    double tolerance) {
    return ConditionalFit(rows, ridge).fit(tolerance);
}

}  // namespace priorwise
