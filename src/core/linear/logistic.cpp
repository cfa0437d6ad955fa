#include "linear/fits.hpp"

#include <algorithm>
#include <cmath>

#include "common/bfgs.hpp"
#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// Intercepts have a very small penalty, which makes the minimum unique.
constexpr double kInterceptPenalty = 1e-6;
// Number of rows whose gradients are summed in single precision before they are added in double.
constexpr std::int64_t kBlock = 128;

class LogisticFit {
  public:
    LogisticFit(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                double penalty)
        : rows_(rows),
          fold_(fold),
          held_(held),
          penalty_(penalty),
          n_(static_cast<std::size_t>(rows.n_weights())),
          score_(static_cast<std::size_t>(rows.n_classes)),
          n_sets_(score_.size() == 2 ? 1 : score_.size()),
          weight_(n_ * n_sets_),
          block_gradient_(n_ * n_sets_) {}

    void fit(double tolerance, std::span<double> weights) {
        const auto start_inverse = invert_diagonal();
        std::vector<double> at(weights.begin(), weights.end());
        if (n_sets_ == 1)
            for (std::size_t i = 0; i < n_; ++i) {
                at[i] = 0.5 * (at[i] - at[n_ + i]);
                at[n_ + i] = -at[i];
            }
        LimitedBfgs(start_inverse, tolerance)
            .minimise([&](const std::vector<double>& w,
                          std::vector<double>& gradient) { return add_up(w, gradient); },
                      at);
        std::ranges::copy(at, weights.begin());
    }

  private:
    template <class Body>
    void for_each_row(Body&& body) const {
        for (std::int64_t row = 0; row < rows_.n_rows; ++row) {
            poll_every<64>(row);
            const double weight = rows_.row_weight ? rows_.row_weight[row] : 1.0;
            if (fold_[row] != held_ && weight != 0.0) body(row, weight);
        }
    }

    // With p(y) about 1 / K everywhere the Hessian's diagonal is (1/K)(1 - 1/K) sum of squares.
    std::vector<double> invert_diagonal() const {
        std::vector<double> squares(n_, 0.0);
        for_each_row([&](std::int64_t row, double weight) {
            squares[0] += weight;
            for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
                const auto index = rows_.index[row * rows_.n_indices + j];
                if (index >= 0) squares[1 + index] += weight;
            }
            const float* value = rows_.value + row * rows_.n_values;
            double* first = squares.data() + 1 + rows_.n_indicators;
            for (std::int32_t q = 0; q < rows_.n_values; ++q)
                first[q] += weight * value[q] * value[q];
        });
        const double share = 1.0 / rows_.n_classes;
        std::vector<double> inverse(n_ * rows_.n_classes);
        for (std::size_t i = 0; i < inverse.size(); ++i)
            inverse[i] = 1.0 / (share * (1.0 - share) * squares[i % n_] + penalty_of(i % n_));
        return inverse;
    }

    std::size_t label(std::int64_t row) const { return static_cast<std::size_t>(rows_.y[row]); }

    double penalty_of(std::size_t weight) const {
        return weight == 0 ? kInterceptPenalty : penalty_;
    }

    double add_up(const std::vector<double>& w, std::vector<double>& gradient) {
        std::copy_n(w.begin(), weight_.size(), weight_.begin());
        std::ranges::fill(gradient, 0.0);
        LogSum loss;
        std::int64_t n_added = 0;
        for_each_row([&](std::int64_t row, double weight) {
            score_row(row, weight, loss);
            for (std::size_t y = 0; y < n_sets_; ++y)
                add_row(row, static_cast<float>(weight * (score_[y] - (y == label(row)))),
                        block_gradient_.data() + y * n_);
            if (++n_added % kBlock == 0) flush(gradient);
        });
        flush(gradient);
        if (n_sets_ == 1)
            for (std::size_t i = 0; i < n_; ++i) gradient[n_ + i] = -gradient[i];
        double cost = loss.total();
        for (std::size_t i = 0; i < w.size(); ++i) {
            cost += 0.5 * penalty_of(i % n_) * w[i] * w[i];
            gradient[i] += penalty_of(i % n_) * w[i];
        }
        return cost;
    }

    void flush(std::vector<double>& gradient) {
        for (std::size_t i = 0; i < block_gradient_.size(); ++i) gradient[i] += block_gradient_[i];
        std::ranges::fill(block_gradient_, 0.0F);
    }

    // score_ becomes the probabilities of the classes; the row's loss is added.
    void score_row(std::int64_t row, double weight, LogSum& loss) {
        const std::int32_t* index = rows_.index + row * rows_.n_indices;
        const float* value = rows_.value + row * rows_.n_values;
        for (std::size_t y = 0; y < n_sets_; ++y) {
            const float* own = weight_.data() + y * n_;
            float sum = own[0] + dot(own + 1 + rows_.n_indicators, value, rows_.n_values);
            for (std::int32_t j = 0; j < rows_.n_indices; ++j)
                if (index[j] >= 0) sum += own[1 + index[j]];
            score_[y] = sum;
        }
        if (n_sets_ == 1) {
            const double gap = 2.0 * score_[0], small = std::exp(-std::abs(gap));
            loss.add(weight, std::max(label(row) == 0 ? -gap : gap, 0.0), 1.0 + small);
            score_[0] = (gap < 0.0 ? small : 1.0) / (1.0 + small);
            return;
        }
        const double largest = *std::ranges::max_element(score_);
        const double gap = largest - score_[label(row)];
        double sum = 0.0;
        for (auto& s : score_) sum += s = std::exp(s - largest);
        for (auto& s : score_) s /= sum;
        loss.add(weight, gap, sum);
    }

    void add_row(std::int64_t row, float miss, float* gradient) const {
        gradient[0] += miss;
        for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
            const auto index = rows_.index[row * rows_.n_indices + j];
            if (index >= 0) gradient[1 + index] += miss;
        }
        const float* value = rows_.value + row * rows_.n_values;
        float* first = gradient + 1 + rows_.n_indicators;
        for (std::int32_t q = 0; q < rows_.n_values; ++q) first[q] += miss * value[q];
    }

    const LogisticRows& rows_;
    const std::int32_t* fold_;
    std::int32_t held_;
    double penalty_;
    std::size_t n_;
    std::vector<double> score_;
    // Sets of weights that are summed up: the weights of the second of two classes are those of the
    // first with the other sign, at the minimum and so all the way to it.
    std::size_t n_sets_;
    std::vector<float> weight_, block_gradient_;
};

}  // namespace

void fit_logistic(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                  double penalty, double tolerance, std::span<double> weights) {
    LogisticFit(rows, fold, held, penalty).fit(tolerance, weights);
}

}  // namespace priorwise
