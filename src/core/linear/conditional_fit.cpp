#include "linear/fits.hpp"

#include <algorithm>
#include <cmath>

#include "common/bfgs.hpp"
#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

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

enum class Derivatives { kGradient, kDiagonal, kHessian };

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
          coefficient_(static_cast<std::size_t>(rows.n_features)) {}

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
        asked_ = derivatives;
        for (std::size_t p = 0; p < coefficient_.size(); ++p)
            coefficient_[p] = static_cast<float>(at[p]);
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
        for (std::size_t i = 0; i < n_; ++i) {
            const double off = at[i] - ridge_.centre[i];
            cost += 0.5 * ridge_.penalty[i] * off * off;
            gradient_[i] += ridge_.penalty[i] * off;
            diagonal_[i] += ridge_.penalty[i];
            if (asked_ == Derivatives::kHessian) hessian_[i * n_ + i] += ridge_.penalty[i];
        }
        return cost;
    }

    const float* features(std::int64_t row, std::int32_t y) const {
        return rows_.features + (row * rows_.n_classes + y) * rows_.n_features;
    }

    // score_ becomes the probabilities of the classes; returns log p of the row's class.
    double score_row(std::int64_t row, std::span<const double> at) {
        double largest = -1e300;
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            const float* f = features(row, y);
            score_[y] = rows_.offset[y] + at[rows_.n_features + y] +
                        dot(coefficient_.data(), f, rows_.n_features);
            largest = std::max(largest, score_[y]);
        }
        const double own = score_[rows_.y[row]] - largest;
        double sum = 0.0;
        for (auto& s : score_) sum += s = std::exp(s - largest);
        for (auto& s : score_) s /= sum;
        return own - std::log(sum);
    }

    // gradient += sum_y (p_y - [y is the row's]) f_y.
    void add_gradient(std::int64_t row, double weight) {
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            const double miss = weight * (score_[y] - (y == rows_.y[row] ? 1.0 : 0.0));
            // The term of a class of nearly zero probability is negligible.
            if (std::abs(miss) < 1e-7 * weight) continue;
            const float* f = features(row, y);
            for (std::int32_t p = 0; p < rows_.n_features; ++p) gradient_[p] += miss * f[p];
            gradient_[rows_.n_features + y] += miss;
        }
    }

    // The same, and
    // hessian += sum_y p_y (f_y - mean)(f_y - mean)^T, of two classes just one term.
    void add_row(std::int64_t row, double weight) {
        const auto own = rows_.y[row];
        if (rows_.n_classes == 2) {
            const float* f0 = features(row, 0);
            const float* f1 = features(row, 1);
            for (std::int32_t p = 0; p < rows_.n_features; ++p) deviation_[p] = f1[p] - f0[p];
            deviation_[rows_.n_features] = -1.0;
            deviation_[rows_.n_features + 1] = 1.0;
            add_curvature(weight * score_[0] * score_[1]);
            const double miss = weight * (score_[1] - (own == 1 ? 1.0 : 0.0));
            for (std::size_t i = 0; i < n_; ++i) gradient_[i] += miss * deviation_[i];
            return;
        }
        std::ranges::fill(mean_, 0.0);
        for (std::int32_t y = 0; y < rows_.n_classes; ++y) {
            const float* f = features(row, y);
            for (std::int32_t p = 0; p < rows_.n_features; ++p) mean_[p] += score_[y] * f[p];
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
};

}  // namespace

std::vector<double> fit_conditional(const ConditionalRows& rows, const Ridge& ridge,
                                    double tolerance) {
    return ConditionalFit(rows, ridge).fit(tolerance);
}

}  // namespace priorwise
