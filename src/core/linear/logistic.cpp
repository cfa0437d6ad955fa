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

using ValuesOfTile = std::array<const float*, kTile>;

// A number for each row of a tile.
using OfTile = std::array<float, kTile>;

// The first of some rows; if there are fewer than in a tile, the last one is repeated.
struct Tile {
    Tile(const LogisticRows& rows, std::span<const std::int64_t> some)
        : n_rows(std::min(some.size(), kTile)) {
        for (std::size_t i = 0; i < kTile; ++i) {
            row[i] = some[std::min(i, n_rows - 1)];
            value[i] = rows.value + row[i] * rows.n_values;
        }
    }

    std::size_t n_rows;
    std::array<std::int64_t, kTile> row;
    ValuesOfTile value;
};

// The inner products of the values of a tile of rows with sets of weights, `stride` apart, each
// added up in eight lanes.
PRIORWISE_WIDE void dot_tile(const ValuesOfTile& value, const float* weight, std::size_t stride,
                             std::int32_t n, std::span<OfTile> results) {
    const std::int32_t n_wide = n - n % 8;
    for (auto& result : results) {
        Eight sums[kTile] = {};
        for (std::int32_t q = 0; q < n_wide; q += 8)
            for (std::size_t row = 0; row < kTile; ++row)
                add_products(value[row] + q, weight + q, sums[row]);
        for (std::size_t row = 0; row < kTile; ++row) {
            auto& own = sums[row];
            for (std::int32_t q = n_wide; q < n; ++q) own[0] += value[row][q] * weight[q];
            result[row] =
                ((own[0] + own[4]) + (own[1] + own[5])) + ((own[2] + own[6]) + (own[3] + own[7]));
        }
        weight += stride;
    }
}

// Adds the values of a tile of rows, each times its misses, to gradients, `stride` apart.
PRIORWISE_WIDE void add_tile(const ValuesOfTile& value, std::span<const OfTile> misses,
                             std::int32_t n, float* gradient, std::size_t stride) {
    for (const auto& miss : misses) {
        for (std::int32_t q = 0; q < n; ++q)
            gradient[q] += (miss[0] * value[0][q] + miss[1] * value[1][q]) +
                           (miss[2] * value[2][q] + miss[3] * value[3][q]);
        gradient += stride;
    }
}

// The scores of a tile of rows, set after set, become probabilities; finds the largest score of
// each row, and the sum of exp(score - largest).
PRIORWISE_WIDE void take_softmax(double* score, std::size_t n_sets, double* largest, double* sum) {
    double most[kTile], total[kTile] = {};
    std::copy_n(score, kTile, most);
    for (std::size_t y = 1; y < n_sets; ++y)
        for (std::size_t i = 0; i < kTile; ++i) most[i] = std::max(most[i], score[y * kTile + i]);
    for (std::size_t y = 0; y < n_sets; ++y)
        for (std::size_t i = 0; i < kTile; ++i)
            score[y * kTile + i] = most[i] - score[y * kTile + i];
    for (std::size_t j = 0; j < n_sets * kTile; ++j) score[j] = exp_of_minus(score[j]);
    for (std::size_t y = 0; y < n_sets; ++y)
        for (std::size_t i = 0; i < kTile; ++i) total[i] += score[y * kTile + i];
    for (std::size_t y = 0; y < n_sets; ++y)
        for (std::size_t i = 0; i < kTile; ++i) score[y * kTile + i] /= total[i];
    std::copy_n(most, kTile, largest);
    std::copy_n(total, kTile, sum);
}

// Scores of rows by sets of weights.
class LogisticScores {
  public:
    LogisticScores(const LogisticRows& rows, std::size_t n_sets)
        : rows_(rows),
          n_(static_cast<std::size_t>(rows.n_weights())),
          weight_(n_ * n_sets),
          product_(n_sets) {}

    // The first numbers are the weights of all sets.
    void take_weights(std::span<const double> weights) {
        std::copy_n(weights.begin(), weight_.size(), weight_.begin());
    }

    // The scores of a tile of rows, set after set.
    void find(const Tile& tile, std::vector<double>& score) {
        const auto* first_value = weight_.data() + 1 + rows_.n_indicators;
        dot_tile(tile.value, first_value, n_, rows_.n_values, product_);
        for (std::size_t y = 0; y < product_.size(); ++y)
            for (std::size_t i = 0; i < kTile; ++i)
                score[y * kTile + i] = product_[y][i] + score_indices(tile.row[i], y);
    }

  private:
    // The intercept and the weights of the indicators of a row.
    float score_indices(std::int64_t row, std::size_t y) const {
        const float* own = weight_.data() + y * n_;
        float sum = own[0];
        for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
            const auto index = rows_.index[row * rows_.n_indices + j];
            if (index >= 0) sum += own[1 + index];
        }
        return sum;
    }

    const LogisticRows& rows_;
    std::size_t n_;
    std::vector<float> weight_;
    std::vector<OfTile> product_;
};

class LogisticFit {
  public:
    LogisticFit(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                double penalty)
        : rows_(rows),
          penalty_(penalty),
          n_(static_cast<std::size_t>(rows.n_weights())),
          n_sets_(rows.n_classes == 2 ? 1 : static_cast<std::size_t>(rows.n_classes)),
          scores_(rows, n_sets_),
          score_(n_sets_ * kTile),
          miss_(n_sets_),
          block_gradient_(n_ * n_sets_) {
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
        scores_.take_weights(w);
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
    void add_tile_of(std::span<const std::int64_t> rows, LogSum& loss) {
        const Tile tile(rows_, rows);
        std::array<double, kTile> weight{};  // zero for repeated rows
        for (std::size_t i = 0; i < tile.n_rows; ++i) weight[i] = row_weight(tile.row[i]);
        scores_.find(tile, score_);
        add_losses(tile, loss);
        for (std::size_t i = 0; i < kTile; ++i)
            if (label(tile.row[i]) < n_sets_) score_[label(tile.row[i]) * kTile + i] -= 1.0;
        for (std::size_t y = 0; y < n_sets_; ++y) {
            for (std::size_t i = 0; i < kTile; ++i)
                miss_[y][i] = static_cast<float>(weight[i] * score_[y * kTile + i]);
            add_indices(tile.row, miss_[y], block_gradient_.data() + y * n_);
        }
        auto* first_value = block_gradient_.data() + 1 + rows_.n_indicators;
        add_tile(tile.value, miss_, rows_.n_values, first_value, n_);
    }

    void add_indices(std::span<const std::int64_t> row, const OfTile& miss, float* gradient) const {
        gradient[0] += (miss[0] + miss[1]) + (miss[2] + miss[3]);
        if (rows_.n_indices == 0) return;
        for (std::size_t i = 0; i < kTile; ++i)
            for (std::int32_t j = 0; j < rows_.n_indices; ++j) {
                const auto index = rows_.index[row[i] * rows_.n_indices + j];
                if (index >= 0) gradient[1 + index] += miss[i];
            }
    }

    // The scores of a tile of rows become the probabilities of the classes; their losses are added.
    void add_losses(const Tile& tile, LogSum& loss) {
        if (n_sets_ == 1) return add_losses_of_two(tile, loss);
        std::array<double, kTile> own, largest, sum;
        for (std::size_t i = 0; i < kTile; ++i) own[i] = score_[label(tile.row[i]) * kTile + i];
        take_softmax(score_.data(), n_sets_, largest.data(), sum.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i)
            loss.add(row_weight(tile.row[i]), largest[i] - own[i], sum[i]);
    }

    void add_losses_of_two(const Tile& tile, LogSum& loss) {
        std::array<double, kTile> gap;
        for (std::size_t i = 0; i < kTile; ++i) {
            gap[i] = 2.0 * score_[i];
            score_[i] = std::abs(gap[i]);
        }
        exponentiate_minus(score_);
        for (std::size_t i = 0; i < kTile; ++i) {
            const double small = score_[i];
            score_[i] = (gap[i] < 0.0 ? small : 1.0) / (1.0 + small);
            if (i >= tile.n_rows) continue;
            const double linear = label(tile.row[i]) == 0 ? -gap[i] : gap[i];
            loss.add(row_weight(tile.row[i]), std::max(linear, 0.0), 1.0 + small);
        }
    }

    const LogisticRows& rows_;
    std::vector<std::int64_t> learnt_;  // rows
    double penalty_;
    std::size_t n_;
    // Sets of weights that are summed up: the weights of the second of two classes are those of the
    // first with the other sign, at the minimum and so all the way to it.
    std::size_t n_sets_;
    LogisticScores scores_;
    std::vector<double> score_;  // of each set those of a tile of rows, then the probabilities
    std::vector<OfTile> miss_;   // of each set by how much these miss the labels
    std::vector<float> block_gradient_;
};

}  // namespace

void fit_logistic(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                  double penalty, double tolerance, std::span<double> weights) {
    LogisticFit(rows, fold, held, penalty).fit(tolerance, weights);
}

void predict_logistic(const LogisticRows& rows, std::span<const std::int64_t> some,
                      std::span<const double> weights, double* proba) {
    const auto n_classes = static_cast<std::size_t>(rows.n_classes);
    LogisticScores scores(rows, n_classes);
    scores.take_weights(weights);
    std::vector<double> score(n_classes * kTile);
    double largest[kTile], sum[kTile];
    for (std::size_t first = 0; first < some.size(); first += kTile) {
        poll_every<64>(static_cast<std::int64_t>(first));
        const Tile tile(rows, some.subspan(first));
        scores.find(tile, score);
        take_softmax(score.data(), n_classes, largest, sum);
        for (std::size_t i = 0; i < tile.n_rows; ++i)
            for (std::size_t y = 0; y < n_classes; ++y)
                proba[static_cast<std::size_t>(tile.row[i]) * n_classes + y] = score[y * kTile + i];
    }
}

}  // namespace priorwise
