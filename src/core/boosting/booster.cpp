#include "boosting/booster.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "boosting/tree.hpp"
#include "common/log_sum.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// With fewer rows than this, threads work on different boosters; with more, on different features.
constexpr std::int64_t kManyRows = 8192;
constexpr std::int64_t kRowsPerTask = 1024;

// Call body(begin, end, task) for pieces of 0..n-1.
template <class Body>
void for_pieces(std::int64_t n, int n_threads, Body body) {
    parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, n_threads, [&](std::int64_t task) {
        body(task * kRowsPerTask, std::min(n, (task + 1) * kRowsPerTask), task);
    });
}

// The logarithm of the norm of scores is `most` + log(`sum`); sum lies in 1 .. width.
struct Norm {
    double most, sum;
};

Norm find_norm(const double* score, std::int32_t width) {
    const double most = *std::max_element(score, score + width);
    double sum = 0.0;
    for (std::int32_t k = 0; k < width; ++k) sum += std::exp(score[k] - most);
    return {most, sum};
}

void add_loss(LogSum& sum, double weight, const double* score, std::int32_t width, std::int32_t y) {
    if (width > 1) {
        const auto norm = find_norm(score, width);
        sum.add(weight, norm.most - score[y], norm.sum);
    } else {
        const double margin = y == 1 ? score[0] : -score[0];
        sum.add(weight, std::max(-margin, 0.0), 1.0 + std::exp(-std::abs(margin)));
    }
}

// The scores to start from, rows x width.
std::vector<double> first_scores(const BoostRows& rows) {
    if (rows.width() > 1) return {rows.offset.begin(), rows.offset.end()};
    std::vector<double> scores(static_cast<std::size_t>(rows.n_rows()));
    for (std::size_t r = 0; r < scores.size(); ++r)
        scores[r] = rows.offset[2 * r + 1] - rows.offset[2 * r];
    return scores;
}

// Adding and subtracting it rounds slopes to multiples of a power of two, so small that sums over
// all rows are exact: the same in any order of rows and as differences, and splits that are equal
// on paper have equal gains.
double rounding_term(const BoostRows& rows) {
    double total = 0.0;
    for (std::int64_t r = 0; r < rows.n_rows(); ++r) total += rows.weight_of(r);
    // No slope or sum of slopes is larger than the total: both have 51 binary digits at most.
    return std::ldexp(1.5, std::ilogb(total) + 2);
}

std::vector<std::int32_t> rows_where(std::span<const std::int32_t> fold, std::int32_t own,
                                     bool inside) {
    std::vector<std::int32_t> rows;
    for (std::size_t r = 0; r < fold.size(); ++r)
        if ((fold[r] == own) == inside) rows.push_back(static_cast<std::int32_t>(r));
    return rows;
}

class Booster {
  public:
    Booster(const BoostRows& rows, const BoostRules& rules, std::span<const std::int32_t> fold,
            std::int32_t own)
        : rows_(rows),
          round_(rounding_term(rows)),
          score_(first_scores(rows)),
          grower_(rows, rules, rows_where(fold, own, false), rows_where(fold, own, true)) {}

    void add_tree(BoostScratch& scratch, int n_threads) {
        const auto learnt = grower_.learnt();
        scratch.slope.resize(static_cast<std::size_t>(rows_.n_rows()) *
                             slope_size(static_cast<std::size_t>(rows_.width())));
        for_pieces(static_cast<std::int64_t>(learnt.size()), n_threads,
                   [&](std::int64_t begin, std::int64_t end, std::int64_t) {
                       for (auto i = begin; i < end; ++i) find_slope(learnt[i], scratch.slope);
                   });
        trees_.push_back(grower_.grow(scratch, score_, n_threads));
    }

    const double* score(std::int64_t row) const { return score_.data() + row * rows_.width(); }

    void give_trees(std::size_t n_trees, Boosted& boosted) const {
        for (std::size_t t = 0; t < n_trees; ++t) {
            boosted.nodes.insert(boosted.nodes.end(), trees_[t].nodes.begin(),
                                 trees_[t].nodes.end());
            boosted.tree_start.push_back(static_cast<std::int64_t>(boosted.nodes.size()));
            for (const auto v : trees_[t].value) {
                if (rows_.width() == 1) boosted.value.push_back(-0.5 * v);
                boosted.value.push_back(rows_.width() == 1 ? 0.5 * v : v);
            }
        }
    }

  private:
    void find_slope(std::int32_t r, std::vector<double>& slopes) const {
        const auto width = rows_.width();
        const auto* s = score(r);
        auto* slope = slopes.data() +
                      static_cast<std::size_t>(r) * slope_size(static_cast<std::size_t>(width));
        const auto y = rows_.outcome[r];
        const double w = rows_.weight_of(r);
        if (width == 1) {
            const double e = std::exp(-std::abs(s[0]));
            const double p = (s[0] < 0.0 ? e : 1.0) / (1.0 + e);
            slope[0] = round(w * (p - y));
            slope[1] = round(w * p * (1.0 - p));
            return;
        }
        const auto norm = find_norm(s, width);
        const double scale = w * width / (width - 1.0);
        for (std::int32_t k = 0; k < width; ++k) {
            const double p = std::exp(s[k] - norm.most) / norm.sum;
            slope[k] = round(w * (p - (k == y ? 1.0 : 0.0)));
            slope[width + k] = round(scale * p * (1.0 - p));
        }
    }

    double round(double slope) const { return (slope + round_) - round_; }

    const BoostRows& rows_;
    double round_;
    std::vector<double> score_;  // rows x width
    BoostGrower grower_;
    std::vector<BoostTree> trees_;
};

// Judges the boosters by the rows held out of them.
class Judge {
  public:
    Judge(const BoostRows& rows, std::span<const std::int32_t> fold, std::span<const double> scales)
        : rows_(rows), fold_(fold), scales_(scales), first_(first_scores(rows)) {}

    // For every scale the mean log-loss of rows with their first scores and, times the scale,
    // what the booster that has not learnt from them has added.
    std::vector<double> losses(const std::vector<Booster>& boosters, int n_threads) const {
        const auto n_scales = scales_.size();
        const auto n_pieces = (rows_.n_rows() + kRowsPerTask - 1) / kRowsPerTask;
        std::vector<double> losses(static_cast<std::size_t>(n_pieces) * n_scales);
        std::vector<double> weights(static_cast<std::size_t>(n_pieces));
        for_pieces(rows_.n_rows(), n_threads, [&](auto begin, auto end, auto piece) {
            std::vector<LogSum> sums(n_scales);
            std::vector<double> score(static_cast<std::size_t>(rows_.width()));
            for (auto r = begin; r < end; ++r) {
                if (static_cast<std::size_t>(fold_[r]) >= boosters.size()) continue;
                add_row(r, boosters[static_cast<std::size_t>(fold_[r])], score, sums);
                weights[piece] += rows_.weight_of(r);
            }
            for (std::size_t i = 0; i < n_scales; ++i)
                losses[static_cast<std::size_t>(piece) * n_scales + i] = sums[i].total();
        });
        std::vector<double> mean(n_scales);
        for (std::size_t i = 0; i < losses.size(); ++i) mean[i % n_scales] += losses[i];
        const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (auto& loss : mean) loss /= weight;
        return mean;
    }

  private:
    void add_row(std::int64_t r, const Booster& booster, std::vector<double>& score,
                 std::vector<LogSum>& sums) const {
        const auto* first = first_.data() + static_cast<std::size_t>(r) * score.size();
        const auto* boosted = booster.score(r);
        for (std::size_t i = 0; i < scales_.size(); ++i) {
            for (std::size_t k = 0; k < score.size(); ++k)
                score[k] = first[k] + scales_[i] * (boosted[k] - first[k]);
            add_loss(sums[i], rows_.weight_of(r), score.data(), rows_.width(), rows_.outcome[r]);
        }
    }

    const BoostRows& rows_;
    std::span<const std::int32_t> fold_;
    std::span<const double> scales_;
    std::vector<double> first_;  // rows x width
};

}  // namespace

Boosted boost(const BoostRows& rows, std::span<const std::int32_t> fold, std::int32_t n_boosters,
              const BoostRules& rules, int n_threads) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const bool share_features = rows.n_rows() >= kManyRows;
    std::vector<Booster> boosters;
    boosters.reserve(static_cast<std::size_t>(n_boosters));
    for (std::int32_t b = 0; b < n_boosters; ++b) boosters.emplace_back(rows, rules, fold, b);

    std::vector<BoostScratch> scratch(share_features ? 1 : boosters.size());
    Boosted boosted;
    const Judge judge(rows, fold, rules.scales);
    const auto add_losses = [&] {
        const auto losses = judge.losses(boosters, share_features ? n_threads : 1);
        boosted.loss.insert(boosted.loss.end(), losses.begin(), losses.end());
        return *std::min_element(losses.begin(), losses.end());
    };
    double least = add_losses();
    std::int32_t best = 0;
    for (std::int32_t round = 1; round <= rules.max_rounds && round - best <= rules.patience &&
                                 seconds() < rules.max_seconds;
         ++round) {
        parallel_for(n_boosters, share_features ? 1 : n_threads, [&](std::int64_t b) {
            boosters[b].add_tree(scratch[share_features ? 0 : b], share_features ? n_threads : 1);
        });
        const double loss = add_losses();
        if (loss >= least) continue;
        least = loss;
        best = round;
    }
    boosted.tree_start.push_back(0);
    for (const auto& booster : boosters)
        booster.give_trees(static_cast<std::size_t>(best), boosted);
    return boosted;
}

}  // namespace priorwise
