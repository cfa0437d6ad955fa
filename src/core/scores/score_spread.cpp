#include "scores/score_spread.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "common/interrupt.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// Distribution of all rows: that of outcomes of the root, towards uniform.
constexpr double kRootConcentration = 2.0;
// A level is taken to have one more context with many rows that differs as with this
// concentration, so that a level of few contexts is never taken as certain to be like those above.
constexpr double kPriorConcentration = 3.0;
// Concentrations are not certain either: with a the part of the variance v that rests on them, this
// times a^2 / v is added.
constexpr double kAssumedFactor = 1.5;
constexpr double kLeastConcentration = 0.05, kMostConcentration = 1e6;
constexpr double kLeastCount = 1e-3;
constexpr int kBuckets = 64;
// Rows of a block at least, and rows times classes at most.
constexpr std::int64_t kMinBlock = 1 << 10, kMaxCells = 1 << 16;

// What is summed over the contexts of a level.
struct LevelSums {
    double squares = 0.0;                     // of differences to the contexts above
    std::array<double, kBuckets> variance{};  // V, by the logarithm of the number of rows

    // The expected sum of squares with concentration c, less the one that is there.
    double excess(double c) const {
        double sum = -squares;
        for (int b = 0; b < kBuckets; ++b) {
            if (variance[b] == 0.0) continue;
            const double n = std::ldexp(1.5, b) - 0.5;
            sum += variance[b] / (c + 1.0) * n / (n + c);
        }
        return sum;
    }

    double solve() const {
        double low = std::log(kLeastConcentration), high = std::log(kMostConcentration);
        for (int i = 0; i < 40; ++i) {
            const double middle = 0.5 * (low + high);
            (excess(std::exp(middle)) > 0.0 ? low : high) = middle;
        }
        return std::exp(0.5 * (low + high));
    }
};

int bucket(double n_rows) {
    return std::clamp(std::ilogb(n_rows + 0.5), 0, kBuckets - 1);
}

// Entries of a factor that concentrations are learnt from, at most.
constexpr std::int64_t kMaxEntries = 20'000;

// trigamma(x) to 1.4 %: (1 + (1 + x) / (x (1 + 2 x))) / x with one division.
double trigamma_about(double x) {
    const double twice = 2.0 * x;
    return (1.0 + x * (2.0 + twice)) / (x * x * (1.0 + twice));
}

double probability(double score) {
    return std::exp(std::min(score, 0.0));
}

// The entries of class y at the contexts above one, from the root down.
void list_entries_above(const ScoreTree& tree, std::span<const std::int32_t> parent,
                        std::int32_t context, std::int32_t y, std::vector<std::int32_t>& entries) {
    entries.clear();
    for (auto c = parent[context]; c >= 0; c = parent[c])
        for (auto e = std::max(1, tree.entry_start[c]); e < tree.entry_start[c + 1]; ++e)
            if (tree.entry_class[e] == y) entries.push_back(e);
    entries.push_back(0);
    std::ranges::reverse(entries);
}

// Variance of the logarithm of p_x where (N + c) p_x = a and N + c = total, own rows included.
double log_variance(double a, double total, double share) {
    a = std::max(a, kLeastCount) + share;
    total = std::max(total + share, a);
    return std::max(0.0, trigamma_about(a) - trigamma_about(total));
}

// Variances of the classes at the outcome of a row, and the parts of them that rest on the
// concentrations, down one factor. A share of a row of each class is added to the rows.
class SpreadWalk {
  public:
    SpreadWalk(const ScoreTree& tree, std::span<const double> concentration)
        : variance(static_cast<std::size_t>(tree.n_classes)),
          assumed(variance.size()),
          tree_(tree),
          concentration_(concentration),
          score_(variance.size()),
          p_(variance.size()),
          level_(variance.size()) {}

    void go(std::span<const std::span<const std::int32_t>> columns, std::int64_t row,
            double share) {
        const auto x = columns[static_cast<std::size_t>(tree_.column)][row];
        const double root = tree_.score_of(0, x, 0.0), n_root = tree_.n_rows[0];
        const double total = n_root + kRootConcentration, p_root = probability(root);
        const double at_root = n_root > 0.0 ? log_variance(total * p_root, total, share) : 0.0;
        std::ranges::fill(score_, root);
        std::ranges::fill(p_, p_root);
        std::ranges::fill(level_, 0);
        std::ranges::fill(assumed, 0.0);
        std::ranges::fill(variance, at_root);
        tree_.walk(columns, row, [&](std::int32_t context, std::int32_t level) {
            for (auto e = std::max(1, tree_.entry_start[context]);
                 e < tree_.entry_start[context + 1]; ++e) {
                const auto y = tree_.entry_class[e];
                skip_levels(y, level, share);
                const double above = score_[y], q = p_[y];
                score_[y] = tree_.score_of(e, x, above);
                if (score_[y] != above) p_[y] = probability(score_[y]);
                step(y, tree_.n_rows[e], q, share);
            }
        });
        const auto n_levels = static_cast<std::int32_t>(concentration_.size());
        for (std::int32_t y = 0; y < tree_.n_classes; ++y) skip_levels(y, n_levels, share);
    }

    std::vector<double> variance, assumed;  // per class

  private:
    // Contexts without rows, down to a level.
    void skip_levels(std::int32_t y, std::int32_t level, double share) {
        while (level_[y] < level) step(y, 0.0, p_[y], share);
    }

    void step(std::int32_t y, double n_rows, double q, double share) {
        const double c = concentration_[level_[y]++];
        const double total = n_rows + c;
        const double a = std::max(total * p_[y], kLeastCount);
        const double kept = std::min(1.0, c * q / a);
        const double own = log_variance(a, total, share);
        variance[y] = own + kept * kept * variance[y];
        assumed[y] = own * c / total + kept * kept * assumed[y];
    }

    const ScoreTree& tree_;
    std::span<const double> concentration_;
    std::vector<double> score_, p_;  // per class, down to the context reached
    std::vector<std::int32_t> level_;
};

// The variances of one factor as functions of the share of a row that is added: one over their
// root is linear in the share. Rows of the same context and outcome have the same functions, which
// are computed for the first of them.
class FactorSpread {
  public:
    FactorSpread(const ScoreTree& tree, std::span<const double> concentration, std::int64_t n_rows)
        : tree_(tree),
          walk_(tree, concentration),
          slots_(std::bit_ceil(static_cast<std::size_t>(2 * n_rows + 1))),
          shift_(64 - std::countr_zero(slots_.size())) {}

    // spread[y] and assumed[y] += those of the factor, for a row whose classes have `share`.
    void add_row(std::span<const std::span<const std::int32_t>> columns, std::int64_t row,
                 const double* share, double* spread, double* assumed) {
        const auto x = columns[static_cast<std::size_t>(tree_.column)][row];
        if (x < 0) return;
        std::int32_t deepest = 0;
        tree_.walk(columns, row, [&](std::int32_t context, std::int32_t) { deepest = context; });
        const auto first = find(std::int64_t{deepest} * tree_.n_outcomes + x, columns, row);
        const auto* line = lines_.data() + first;
        for (std::int32_t y = 0; y < tree_.n_classes; ++y) {
            const double inverse = line[y].at_zero + share[y] * line[y].slope;
            const double variance = 1.0 / (inverse * inverse);
            spread[y] += variance;
            assumed[y] += variance * (line[y].assumed_at_zero + share[y] * line[y].assumed_slope);
        }
    }

  private:
    // One over the root of the variance, and the part of it that is assumed.
    struct Line {
        double at_zero, slope, assumed_at_zero, assumed_slope;
    };
    struct Slot {
        std::int64_t key = -1;
        std::size_t first = 0;  // place of the first line
    };
    static constexpr double kLeastVariance = 1e-24;

    std::size_t find(std::int64_t key, std::span<const std::span<const std::int32_t>> columns,
                     std::int64_t row) {
        auto place = (static_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15U) >> shift_;
        while (slots_[place].key != key) {
            if (slots_[place].key < 0) {
                slots_[place] = {key, lines_.size()};
                add_lines(columns, row);
                break;
            }
            place = (place + 1) & (slots_.size() - 1);
        }
        return slots_[place].first;
    }

    void add_lines(std::span<const std::span<const std::int32_t>> columns, std::int64_t row) {
        const auto first = lines_.size();
        for (const double share : {0.0, 1.0}) {
            walk_.go(columns, row, share);
            for (std::size_t y = 0; y < walk_.variance.size(); ++y) {
                const double variance = std::max(walk_.variance[y], kLeastVariance);
                const double inverse = 1.0 / std::sqrt(variance);
                const double assumed = walk_.assumed[y] / variance;
                if (share == 0.0) {
                    lines_.push_back({inverse, 0.0, assumed, 0.0});
                } else {
                    auto& line = lines_[first + y];
                    line.slope = inverse - line.at_zero;
                    line.assumed_slope = assumed - line.assumed_at_zero;
                }
            }
        }
    }

    const ScoreTree& tree_;
    SpreadWalk walk_;
    std::vector<Slot> slots_;
    int shift_;
    std::vector<Line> lines_;  // of the classes, one context and outcome behind the other
};

}  // namespace

std::vector<double> find_concentrations(const ScoreTree& tree) {
    const auto n_contexts = static_cast<std::size_t>(tree.n_contexts());
    std::vector<std::int32_t> parent(n_contexts, -1), level(n_contexts, 0), above;
    std::vector<LevelSums> sums(tree.path.size() + 1);
    for (auto& one : sums) {
        one.variance[kBuckets - 1] = 1.0;
        one.squares = 1.0 / (kPriorConcentration + 1.0);
    }
    const auto stride = 1 + tree.n_entries() / kMaxEntries;
    for (std::int32_t c = 0; c < tree.n_contexts(); ++c) {
        poll_every<1024>(c);
        for (auto child = tree.child_start[c]; child < tree.child_start[c + 1]; ++child) {
            parent[child] = c;
            level[child] = level[c] + 1;
        }
        for (auto e = std::max(1, tree.entry_start[c]); e < tree.entry_start[c + 1]; ++e) {
            if (e % stride != 0) continue;
            list_entries_above(tree, parent, c, tree.entry_class[e], above);
            double variance = 0.0, squares = 0.0;
            const auto first = tree.dense() ? 0 : tree.cell_start[e];
            const auto last = tree.dense() ? tree.n_outcomes : tree.cell_start[e + 1];
            for (auto cell = first; cell < last; ++cell) {
                const auto x = tree.dense() ? cell : tree.outcome[cell];
                double score = 0.0;
                for (const auto a : above) score = tree.score_of(a, x, score);
                const double q = probability(score);
                const double p = probability(tree.score_of(e, x, score));
                variance += q * (1.0 - q);
                squares += (p - q) * (p - q);
            }
            // A file may hold a tree that is deeper than its path.
            auto& own = sums[std::min(static_cast<std::size_t>(level[c]), sums.size() - 1)];
            own.squares += squares;
            own.variance[bucket(tree.n_rows[e])] += variance;
        }
    }
    std::vector<double> concentration;
    for (const auto& one : sums) concentration.push_back(one.solve());
    return concentration;
}

void sum_spreads(const FactorProduct& product,
                 std::span<const std::span<const std::int32_t>> columns, std::int64_t n_rows,
                 const double* proba, int n_threads, double* spread) {
    const auto n_classes = static_cast<std::int64_t>(product.log_prior().size());
    std::fill_n(spread, n_rows * n_classes, 0.0);
    std::vector<ScoreTree> trees;
    for (std::size_t i = 0; i < product.n_factors(); ++i) trees.push_back(product.factor(i));
    std::vector<std::vector<double>> concentrations(trees.size());
    parallel_for(std::ssize(trees), n_threads,
                 [&](std::int64_t t) { concentrations[t] = find_concentrations(trees[t]); });
    // Large blocks, because each computes the variances of its contexts.
    const auto size = std::clamp((n_rows + n_threads - 1) / std::max(1, n_threads), kMinBlock,
                                 std::max(kMinBlock, kMaxCells / n_classes));
    parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t block) {
        const auto first = block * size, last = std::min(n_rows, first + size);
        std::vector<double> assumed(static_cast<std::size_t>((last - first) * n_classes));
        for (std::size_t t = 0; t < trees.size(); ++t) {
            poll_interrupt();
            FactorSpread factor(trees[t], concentrations[t], last - first);
            for (auto row = first; row < last; ++row)
                factor.add_row(columns, row, proba + row * n_classes, spread + row * n_classes,
                               assumed.data() + (row - first) * n_classes);
        }
        double* const own = spread + first * n_classes;
        for (std::size_t i = 0; i < assumed.size(); ++i)
            if (own[i] > 0.0) own[i] += kAssumedFactor * assumed[i] * assumed[i] / own[i];
    });
}

}  // namespace priorwise
