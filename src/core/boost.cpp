#include "boost.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "boost_tree.hpp"
#include "parallel.hpp"

namespace priorwise {
namespace {

// With fewer rows, threads share the boosters; with more, the features of each.
constexpr std::int64_t kManyRows = 8192;
constexpr std::int64_t kRowsPerTask = 1024;

class Booster {
  public:
    Booster(const BoostRows& rows, const BoostRules& rules, std::span<const std::int32_t> fold,
            std::int32_t own)
        : rows_(rows),
          width_(rows.width()),
          score_(static_cast<std::size_t>(rows.n_rows() * width_)),
          slope_(static_cast<std::size_t>(rows.n_rows()) * slope_size(rows_.width())),
          grower_(rows, rules, those(fold, own, false), those(fold, own, true)) {
        for (std::int64_t r = 0; r < rows.n_rows(); ++r) {
            const auto* offset = rows.offset.data() + r * rows.n_outcomes;
            if (width_ == 1)
                score_[r] = offset[1] - offset[0];
            else
                std::copy_n(offset, width_, score_.data() + r * width_);
        }
    }

    void add_tree(int n_threads) {
        over(grower_.learnt(), n_threads, [this](std::int32_t r) { find_slope(r); });
        trees_.push_back(grower_.grow(slope_, score_, n_threads));
    }

    // The log-loss of the rows held out, summed in their order.
    double held_loss() const {
        double loss = 0.0;
        for (const auto r : grower_.held()) loss += rows_.weight_of(r) * loss_of(r);
        return loss;
    }

    double held_weight() const {
        double weight = 0.0;
        for (const auto r : grower_.held()) weight += rows_.weight_of(r);
        return weight;
    }

    void give_trees(std::size_t n_trees, Boosted& boosted) const {
        for (std::size_t t = 0; t < n_trees; ++t) {
            boosted.nodes.insert(boosted.nodes.end(), trees_[t].nodes.begin(),
                                 trees_[t].nodes.end());
            boosted.tree_start.push_back(static_cast<std::int64_t>(boosted.nodes.size()));
            for (const auto v : trees_[t].value) {
                if (width_ == 1) boosted.value.push_back(-0.5 * v);
                boosted.value.push_back(width_ == 1 ? 0.5 * v : v);
            }
        }
    }

  private:
    static std::vector<std::int32_t> those(std::span<const std::int32_t> fold, std::int32_t own,
                                           bool held) {
        std::vector<std::int32_t> rows;
        for (std::size_t r = 0; r < fold.size(); ++r)
            if ((fold[r] == own) == held) rows.push_back(static_cast<std::int32_t>(r));
        return rows;
    }

    template <class Body>
    static void over(std::span<const std::int32_t> rows, int n_threads, Body body) {
        const auto n = static_cast<std::int64_t>(rows.size());
        parallel_for((n + kRowsPerTask - 1) / kRowsPerTask, n_threads, [&](std::int64_t task) {
            const auto end = std::min(n, (task + 1) * kRowsPerTask);
            for (auto i = task * kRowsPerTask; i < end; ++i) body(rows[i]);
        });
    }

    void find_slope(std::int32_t r) {
        const auto* score = score_.data() + static_cast<std::int64_t>(r) * width_;
        auto* slope = slope_.data() + static_cast<std::size_t>(r) * slope_size(rows_.width());
        const auto y = rows_.outcome[r];
        const double w = rows_.weight_of(r);
        if (width_ == 1) {
            const double p = 1.0 / (1.0 + std::exp(-score[0]));
            slope[0] = static_cast<float>(w * (p - y));
            slope[1] = static_cast<float>(w * p * (1.0 - p));
            return;
        }
        const double norm = log_norm(score);
        const double scale = w * width_ / (width_ - 1.0);
        for (std::int32_t k = 0; k < width_; ++k) {
            const double p = std::exp(score[k] - norm);
            slope[k] = static_cast<float>(w * (p - (k == y ? 1.0 : 0.0)));
            slope[width_ + k] = static_cast<float>(scale * p * (1.0 - p));
        }
    }

    double loss_of(std::int32_t r) const {
        const auto* score = score_.data() + static_cast<std::int64_t>(r) * width_;
        const auto y = rows_.outcome[r];
        if (width_ > 1) return log_norm(score) - score[y];
        const double margin = y == 1 ? score[0] : -score[0];
        return margin > 0.0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
    }

    double log_norm(const double* score) const {
        const double most = *std::max_element(score, score + width_);
        double sum = 0.0;
        for (std::int32_t k = 0; k < width_; ++k) sum += std::exp(score[k] - most);
        return most + std::log(sum);
    }

    const BoostRows& rows_;
    std::int32_t width_;
    std::vector<double> score_;  // rows x width
    std::vector<float> slope_;   // rows x slope_size
    BoostGrower grower_;
    std::vector<BoostTree> trees_;
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

    double weight = 0.0;
    for (const auto& booster : boosters) weight += booster.held_weight();
    std::vector<double> held(boosters.size());
    for (std::size_t b = 0; b < boosters.size(); ++b) held[b] = boosters[b].held_loss();
    const auto mean_loss = [&] { return std::accumulate(held.begin(), held.end(), 0.0) / weight; };

    Boosted boosted;
    boosted.loss.push_back(mean_loss());
    std::int32_t best = 0;
    for (std::int32_t round = 1; round <= rules.max_rounds && round - best <= rules.patience &&
                                 seconds() < rules.max_seconds;
         ++round) {
        parallel_for(n_boosters, share_features ? 1 : n_threads, [&](std::int64_t b) {
            boosters[b].add_tree(share_features ? n_threads : 1);
            held[b] = boosters[b].held_loss();
        });
        boosted.loss.push_back(mean_loss());
        if (boosted.loss[round] < boosted.loss[best]) best = round;
    }
    boosted.tree_start.push_back(0);
    for (const auto& booster : boosters)
        booster.give_trees(static_cast<std::size_t>(best), boosted);
    return boosted;
}

}  // namespace priorwise
