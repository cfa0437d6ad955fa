#include "boosting/booster.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>

#include "boosting/tree.hpp"
#include "common/fast_sums.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// With fewer rows than this, threads work on different boosters alone.
constexpr std::int64_t kManyRows = 8192;
constexpr std::int64_t kRowsPerTask = 4096;

// Rows whose exponentials are computed together, several in one instruction.
constexpr std::size_t kBlock = 128;

// Exponentials of the scores of a block of rows: of two classes exp(-|score|), else those of the
// score less the row's largest, and their sums.
struct ExpBlock {
    explicit ExpBlock(std::int32_t width)
        : width(static_cast<std::size_t>(width)), part(kBlock * this->width) {}

    // The i-th row.
    void set(std::size_t i, const double* score) {
        if (width == 1) {
            part[i] = std::abs(*score);
            return;
        }
        most[i] = *std::max_element(score, score + width);
        for (std::size_t k = 0; k < width; ++k) part[i * width + k] = most[i] - score[k];
    }
    void take_exponentials(std::size_t n_rows) {
        exponentiate_minus(std::span(part).first(n_rows * width));
        if (width == 1) return;
        const auto* x = part.data();
        for (std::size_t i = 0; i < n_rows; ++i)
            sum[i] = std::accumulate(x + i * width, x + (i + 1) * width, 0.0);
    }

    std::size_t width;
    std::vector<double> part;  // rows x width
    double most[kBlock], sum[kBlock];
};

// What all boosters start from.
struct BoostStart {
    explicit BoostStart(const BoostRows& rows) : rows(rows) {
        double total = 0.0;
        for (std::int64_t r = 0; r < rows.n_rows(); ++r) total += rows.weight_of(r);
        // No slope is larger than the weight of its row, so sums have 31 binary digits at most.
        per_unit = std::ldexp(1.0, 29 - std::ilogb(total));
    }

    const BoostRows& rows;
    double per_unit;  // slopes are rounded to multiples of one divided by it
};

// Whether a booster is judged by a row, and does not learn from it.
using IsHeld = std::function<bool(std::size_t row, std::int32_t booster)>;

class Booster {
  public:
    Booster(const BoostStart& start, const BoostingRules& rules, const IsHeld& is_held,
            std::int32_t own)
        : start_(start),
          rows_(start.rows),
          rules_(rules),
          key_(draw_number(rules.seed, static_cast<std::uint64_t>(own))),
          width_(start.rows.width()),
          grower_(start.rows, rules) {
        const auto n_rows = static_cast<std::size_t>(rows_.n_rows());
        const auto width = static_cast<std::size_t>(width_);
        score_.resize(n_rows * width);
        for (std::size_t r = 0; r < n_rows; ++r)
            for (std::size_t k = 0; k < width; ++k) score_[r * width + k] = rows_.first_score(r, k);
        // Sizes first, so that no list takes more memory than it needs.
        std::size_t n_held = 0;
        for (std::size_t r = 0; r < n_rows; ++r) n_held += is_held(r, own);
        held_.reserve(n_held);
        learnt_.reserve(n_rows - n_held);
        for (std::size_t r = 0; r < n_rows; ++r)
            (is_held(r, own) ? held_ : learnt_).push_back(static_cast<std::int32_t>(r));
        first_.reserve(n_held * width);
        for (const auto r : held_)
            for (std::size_t k = 0; k < width; ++k)
                first_.push_back(score_[static_cast<std::size_t>(r) * width + k]);
    }

    void add_tree(BoostScratch& scratch, int n_threads) {
        const auto key = draw_number(key_, trees_.size());
        draw_rows(key);
        draw_features(draw_number(key, std::uint64_t{1} << 40));
        dither_ = draw_number(key, std::uint64_t{1} << 41);
        scratch.slope.resize(static_cast<std::size_t>(rows_.n_rows()) *
                             static_cast<std::size_t>(width_));
        const auto n_pieces =
            (static_cast<std::int64_t>(grown_.size()) + kRowsPerTask - 1) / kRowsPerTask;
        parallel_for(n_pieces, n_threads, [&](std::int64_t piece) {
            const auto begin = static_cast<std::size_t>(piece * kRowsPerTask);
            const auto size = std::min<std::size_t>(kRowsPerTask, grown_.size() - begin);
            find_slopes(std::span(grown_).subspan(begin, size), scratch.slope);
        });
        const BoostTask task{grown_, routed_, features_, 1.0 / start_.per_unit, scratch, n_threads};
        trees_.push_back(grower_.grow(task, score_));
    }

    // For every scale the log-loss of the rows held out with their first scores and, times the
    // scale, what the trees have added.
    std::vector<double> judge() const {
        std::vector<double> losses;
        for (const auto scale : rules_.scales) {
            LogSum sum;
            for (std::size_t at = 0; at < held_.size(); at += kBlock)
                add_losses(at, std::min(kBlock, held_.size() - at), scale, sum);
            losses.push_back(sum.total());
        }
        return losses;
    }

    double held_weight() const {
        double total = 0.0;
        for (const auto r : held_) total += rows_.weight_of(r);
        return total;
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
    // The rows that grow the next tree, and those that follow its splits.
    void draw_rows(std::uint64_t key) {
        routed_ = held_;
        grown_ = learnt_;
        if (rules_.row_share >= 1.0) return;
        const auto limit = static_cast<std::uint64_t>(std::ldexp(rules_.row_share, 64));
        std::size_t n_grown = 0;
        for (const auto r : learnt_) {
            if (draw_number(key, static_cast<std::uint64_t>(r)) < limit)
                grown_[n_grown++] = r;
            else
                routed_.push_back(r);
        }
        grown_.resize(n_grown);
        if (n_grown > 0) return;
        routed_ = held_;
        grown_ = learnt_;
    }

    void draw_features(std::uint64_t key) {
        features_.resize(static_cast<std::size_t>(rows_.bins.n_features()));
        std::iota(features_.begin(), features_.end(), 0);
        const auto n_drawn = static_cast<std::size_t>(
            std::ceil(rules_.column_share * static_cast<double>(features_.size())));
        if (n_drawn >= features_.size()) return;
        std::sort(features_.begin(), features_.end(), [&](auto a, auto b) {
            return draw_number(key, static_cast<std::uint64_t>(a)) <
                   draw_number(key, static_cast<std::uint64_t>(b));
        });
        features_.resize(n_drawn);
        std::sort(features_.begin(), features_.end());
    }

    // Of the rows held out from place `begin` on.
    void add_losses(std::size_t begin, std::size_t n, double scale, LogSum& sum) const {
        const auto rows = std::span(held_).subspan(begin, n);
        ExpBlock block(width_);
        std::vector<double> score(block.width);
        double linear[kBlock];
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto at = static_cast<std::size_t>(rows[i]) * block.width;
            for (std::size_t k = 0; k < block.width; ++k) {
                const double first = first_[(begin + i) * block.width + k];
                score[k] = first + scale * (score_[at + k] - first);
            }
            block.set(i, score.data());
            const auto y = rows_.outcome[rows[i]];
            linear[i] = width_ > 1 ? block.most[i] - score[y]
                                   : std::max(y == 1 ? -score[0] : score[0], 0.0);
        }
        block.take_exponentials(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            sum.add(rows_.weight_of(rows[i]), linear[i],
                    width_ > 1 ? block.sum[i] : 1.0 + block.part[i]);
    }

    void find_slopes(std::span<const std::int32_t> rows, std::vector<Slope>& slopes) const {
        ExpBlock block(width_);
        for (; !rows.empty(); rows = rows.subspan(std::min(kBlock, rows.size()))) {
            const auto n = std::min(kBlock, rows.size());
            for (std::size_t i = 0; i < n; ++i)
                block.set(i, score_.data() + static_cast<std::size_t>(rows[i]) * block.width);
            block.take_exponentials(n);
            for (std::size_t i = 0; i < n; ++i) find_slope(rows[i], block, i, slopes);
        }
    }

    void find_slope(std::int32_t r, const ExpBlock& block, std::size_t i,
                    std::vector<Slope>& slopes) const {
        const auto at = static_cast<std::size_t>(r) * block.width;
        const auto* part = block.part.data() + i * block.width;
        const auto y = rows_.outcome[r];
        const double w = rows_.weight_of(r) * start_.per_unit;
        if (width_ == 1) {
            const double p = (score_[at] < 0.0 ? *part : 1.0) / (1.0 + *part);
            slopes[at] = round(w * (p - y), w * p * (1.0 - p), at);
            return;
        }
        const double scale = w * width_ / (width_ - 1.0), share = 1.0 / block.sum[i];
        for (std::int32_t k = 0; k < width_; ++k) {
            const double p = part[k] * share;
            slopes[at + k] = round(w * (p - (k == y ? 1.0 : 0.0)), scale * p * (1.0 - p), at + k);
        }
    }

    // Both slopes of a score as whole numbers: the nearest, or with many rows the one below or
    // above, drawn so that the mean is right.
    Slope round(double g, double h, std::size_t at) const {
        if (rows_.n_rows() >= kDitheredRows) {
            const auto drawn = draw_number(dither_, at);
            g += 0x1p-32 * static_cast<double>(drawn >> 32) - 0.5;
            h += 0x1p-32 * static_cast<double>(drawn & 0xFFFFFFFF) - 0.5;
        }
        return pack_slope(round(g), round(h));
    }

    // The nearest whole number, for numbers up to 2^51.
    static Slope round(double x) {
        constexpr double kRound = 0x1.8p52;
        return std::bit_cast<Slope>(x + kRound) - std::bit_cast<Slope>(kRound);
    }

    const BoostStart& start_;
    const BoostRows& rows_;
    const BoostingRules& rules_;
    std::uint64_t key_;
    std::int32_t width_;
    std::vector<double> score_;                // rows x width
    std::vector<double> first_;                // the scores of the rows held out to start from
    std::vector<std::int32_t> learnt_, held_;  // rows of all folds but one, and of that one
    std::uint64_t dither_ = 0;                 // key of random numbers that round slopes
    std::vector<std::int32_t> grown_, routed_, features_;  // of the tree that is grown now
    BoostGrower grower_;
    std::vector<BoostTree> trees_;
};

// Memory that the boosters at work share; there is as much of it as boosters work at once.
class ScratchShelf {
  public:
    BoostScratch take() {
        const std::lock_guard guard(mutex_);
        if (spare_.empty()) return {};
        auto scratch = std::move(spare_.back());
        spare_.pop_back();
        return scratch;
    }
    void give_back(BoostScratch scratch) {
        const std::lock_guard guard(mutex_);
        spare_.push_back(std::move(scratch));
    }

  private:
    std::mutex mutex_;
    std::vector<BoostScratch> spare_;
};

// The mean over all rows held out, for every scale.
std::vector<double> mean_losses(const std::vector<std::vector<double>>& sums, double weight) {
    std::vector<double> mean(sums.front().size());
    for (const auto& own : sums)
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += own[i];
    for (auto& loss : mean) loss /= weight;
    return mean;
}

Boosted boost_held(const BoostRows& rows, const IsHeld& is_held, std::int32_t n_boosters,
                   const BoostingRules& rules, int n_threads) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto seconds = [&] {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    const BoostStart start(rows);
    std::vector<Booster> boosters;
    boosters.reserve(static_cast<std::size_t>(n_boosters));
    for (std::int32_t b = 0; b < n_boosters; ++b) boosters.emplace_back(start, rules, is_held, b);
    const double weight =
        std::accumulate(boosters.begin(), boosters.end(), 0.0,
                        [](double sum, const Booster& one) { return sum + one.held_weight(); });
    const int n_inside = rows.n_rows() < kManyRows ? 1 : (n_threads + n_boosters - 1) / n_boosters;

    ScratchShelf shelf;
    Boosted boosted;
    std::vector<std::vector<double>> sums(boosters.size());
    const auto work = [&](bool add_trees) {
        parallel_for(n_boosters, n_threads, [&](std::int64_t b) {
            if (add_trees) {
                auto scratch = shelf.take();
                boosters[b].add_tree(scratch, n_inside);
                shelf.give_back(std::move(scratch));
            }
            sums[b] = boosters[b].judge();
        });
        const auto losses = mean_losses(sums, weight);
        boosted.loss.insert(boosted.loss.end(), losses.begin(), losses.end());
        for (std::size_t scale = 0; scale < losses.size(); ++scale)
            for (const auto& own : sums) boosted.booster_loss.push_back(own[scale]);
        return *std::min_element(losses.begin(), losses.end());
    };
    double least = work(false);
    std::int32_t best = 0;
    for (std::int32_t round = 1; round <= rules.max_rounds && round - best <= rules.patience &&
                                 seconds() < rules.max_seconds;
         ++round) {
        const double loss = work(true);
        if (loss >= least) continue;
        least = loss;
        best = round;
    }
    boosted.tree_start.push_back(0);
    for (const auto& booster : boosters)
        booster.give_trees(static_cast<std::size_t>(best), boosted);
    return boosted;
}

}  // namespace

Boosted boost(const BoostRows& rows, std::span<const std::int32_t> fold, std::int32_t n_boosters,
              const BoostingRules& rules, int n_threads) {
    const auto is_held = [&](std::size_t row, std::int32_t b) { return fold[row] == b; };
    return boost_held(rows, is_held, n_boosters, rules, n_threads);
}

Boosted boost_first_rows(const BoostRows& rows, std::int64_t n_held, const BoostingRules& rules,
                         int n_threads) {
    const auto end = static_cast<std::size_t>(rows.n_rows() - n_held);
    return boost_held(
        rows, [&](std::size_t row, std::int32_t) { return row >= end; }, 1, rules, n_threads);
}

}  // namespace priorwise
