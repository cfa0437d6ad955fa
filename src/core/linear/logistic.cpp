#include "linear/fits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/bfgs.hpp"
#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// Intercepts have a very small penalty, which makes the minimum unique.
constexpr double kInterceptPenalty = 1e-6;
// Number of rows whose gradients are summed in single precision before they are added in double.
constexpr std::size_t kBlock = 128;
// Number of rows that are read together, so that each weight and gradient is read once for all.
constexpr std::size_t kTile = 4;

using Tile = std::array<const float*, kTile>;

// The inner products of the values of a tile of rows with weights, each added up in eight lanes.
PRIORWISE_WIDE void dot_tile(const Tile& value, const float* weight, std::int32_t n,
                             std::array<float, kTile>& result) {
    Eight sums[kTile] = {};
    const std::int32_t n_wide = n - n % 8;
    for (std::int32_t q = 0; q < n_wide; q += 8)
        for (std::size_t row = 0; row < kTile; ++row)
            add_products(value[row] + q, weight + q, sums[row]);
    for (std::size_t row = 0; row < kTile; ++row) {
        auto& own = sums[row];
        for (std::int32_t q = n_wide; q < n; ++q) own[0] += value[row][q] * weight[q];
        result[row] =
            ((own[0] + own[4]) + (own[1] + own[5])) + ((own[2] + own[6]) + (own[3] + own[7]));
    }
}

// Adds the values of a tile of rows, each times its miss, to a gradient.
PRIORWISE_WIDE void add_tile(const Tile& value, const std::array<float, kTile>& miss,
                             std::int32_t n, float* gradient) {
    for (std::int32_t q = 0; q < n; ++q)
        gradient[q] += (miss[0] * value[0][q] + miss[1] * value[1][q]) +
                       (miss[2] * value[2][q] + miss[3] * value[3][q]);
}

// Numbers x >= 0 become exp(-x).
PRIORWISE_WIDE void exponentiate_minus(double* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = exp_of_minus(x[i]);
}

class LogisticFit {
  public:
    LogisticFit(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                double penalty)
        : rows_(rows),
          penalty_(penalty),
          n_(static_cast<std::size_t>(rows.n_weights())),
          n_sets_(rows.n_classes == 2 ? 1 : static_cast<std::size_t>(rows.n_classes)),
          score_(n_sets_ * kTile),
          weight_(n_ * n_sets_),
          block_gradient_(n_ * n_sets_),
          tile_score_(n_sets_) {
        for (std::int64_t row = 0; row < rows.n_rows; ++row)
            if (fold[row] != held && row_weight(row) != 0.0) learnt_.push_back(row);
    }

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
    double row_weight(std::int64_t row) const {
        return rows_.row_weight ? rows_.row_weight[row] : 1.0;
    }

    // With p(y) about 1 / K everywhere the Hessian's diagonal is (1/K)(1 - 1/K) sum of squares.
    std::vector<double> invert_diagonal() const {
        std::vector<double> squares(n_, 0.0);
        for (const auto row : learnt_) {
            poll_every<64>(row);
            const double weight = row_weight(row);
            squares[0] += weight;
            for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
                const auto index = rows_.index[row * rows_.n_indices + j];
                if (index >= 0) squares[1 + index] += weight;
            }
            const float* value = rows_.value + row * rows_.n_values;
            double* first = squares.data() + 1 + rows_.n_indicators;
            for (std::int32_t q = 0; q < rows_.n_values; ++q)
                first[q] += weight * value[q] * value[q];
        }
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
        for (std::size_t first = 0; first < learnt_.size(); first += kTile) {
            poll_every<64>(static_cast<std::int64_t>(first));
            add_tile_of(std::span(learnt_).subspan(first), loss);
            if ((first + kTile) % kBlock == 0) flush(gradient);
        }
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

    // Adds the losses of the first rows to `loss`, and their gradients to those of the block.
    // Behind the last row of all, a tile repeats it with a miss of zero.
    void add_tile_of(std::span<const std::int64_t> rows, LogSum& loss) {
        const std::size_t n_rows = std::min(rows.size(), kTile);
        Tile value;
        for (std::size_t i = 0; i < kTile; ++i)
            value[i] = rows_.value + rows[std::min(i, n_rows - 1)] * rows_.n_values;
        for (std::size_t y = 0; y < n_sets_; ++y)
            dot_tile(value, weight_.data() + y * n_ + 1 + rows_.n_indicators, rows_.n_values,
                     tile_score_[y]);
        for (std::size_t y = 0; y < n_sets_; ++y)
            for (std::size_t i = 0; i < n_rows; ++i)
                score_[y * kTile + i] = tile_score_[y][i] + score_indices(rows[i], y);
        add_losses(rows.first(n_rows), loss);
        for (std::size_t y = 0; y < n_sets_; ++y) {
            for (std::size_t i = 0; i < n_rows; ++i) {
                const double miss = score_[y * kTile + i] - (y == label(rows[i]));
                tile_score_[y][i] = static_cast<float>(row_weight(rows[i]) * miss);
                add_indices(rows[i], tile_score_[y][i], block_gradient_.data() + y * n_);
            }
            for (std::size_t i = n_rows; i < kTile; ++i) tile_score_[y][i] = 0.0F;
            add_tile(value, tile_score_[y], rows_.n_values,
                     block_gradient_.data() + y * n_ + 1 + rows_.n_indicators);
        }
    }

    float score_indices(std::int64_t row, std::size_t y) const {
        const float* own = weight_.data() + y * n_;
        float sum = own[0];
        for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
            const auto index = rows_.index[row * rows_.n_indices + j];
            if (index >= 0) sum += own[1 + index];
        }
        return sum;
    }

    void add_indices(std::int64_t row, float miss, float* gradient) const {
        gradient[0] += miss;
        for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
            const auto index = rows_.index[row * rows_.n_indices + j];
            if (index >= 0) gradient[1 + index] += miss;
        }
    }

    // The scores of a tile of rows become the probabilities of the classes; their losses are added.
    void add_losses(std::span<const std::int64_t> rows, LogSum& loss) {
        std::array<double, kTile> gap{}, sum{};
        if (n_sets_ == 1) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                gap[i] = 2.0 * score_[i];
                score_[i] = std::abs(gap[i]);
            }
            exponentiate_minus(score_.data(), kTile);
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const double small = score_[i];
                loss.add(row_weight(rows[i]), std::max(label(rows[i]) == 0 ? -gap[i] : gap[i], 0.0),
                         1.0 + small);
                score_[i] = (gap[i] < 0.0 ? small : 1.0) / (1.0 + small);
            }
            return;
        }
        std::array<double, kTile> largest;
        std::copy_n(score_.begin(), kTile, largest.begin());
        for (std::size_t j = kTile; j < score_.size(); ++j)
            largest[j % kTile] = std::max(largest[j % kTile], score_[j]);
        for (std::size_t i = 0; i < rows.size(); ++i)
            gap[i] = largest[i] - score_[label(rows[i]) * kTile + i];
        for (std::size_t j = 0; j < score_.size(); ++j) score_[j] = largest[j % kTile] - score_[j];
        exponentiate_minus(score_.data(), score_.size());
        for (std::size_t j = 0; j < score_.size(); ++j) sum[j % kTile] += score_[j];
        for (std::size_t j = 0; j < score_.size(); ++j) score_[j] /= sum[j % kTile];
        for (std::size_t i = 0; i < rows.size(); ++i) loss.add(row_weight(rows[i]), gap[i], sum[i]);
    }

    const LogisticRows& rows_;
    std::vector<std::int64_t> learnt_;  // rows
    double penalty_;
    std::size_t n_;
    // Sets of weights that are summed up: the weights of the second of two classes are those of the
    // first with the other sign, at the minimum and so all the way to it.
    std::size_t n_sets_;
    std::vector<double> score_;  // of each set those of a tile of rows
    std::vector<float> weight_, block_gradient_;
    // Of each set the scores of a tile of rows, then by how much probabilities miss the labels.
    std::vector<std::array<float, kTile>> tile_score_;
};

}  // namespace

void fit_logistic(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                  double penalty, double tolerance, std::span<double> weights) {
    LogisticFit(rows, fold, held, penalty).fit(tolerance, weights);
}

}  // namespace priorwise
