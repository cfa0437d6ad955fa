#include "smoothing/smoothers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

constexpr double kLowest = 0.125;
constexpr double kHighest = 1024.0;
// Least leave-one-out estimate: a deep chain of nodes with many other rows would bring it to zero.
constexpr double kLeastEstimate = 1e-280;
// Least log probability that is weighted: that of 1e-300.
constexpr double kLeastLog = -690.7755278982137;

// A cell that enters the likelihood of c: its node has other rows.
struct Witness {
    double n;      // rows
    double other;  // n less the row left out
    double q;
    double total;  // of the node, less the row left out
};

// The cells of a level, each field by itself.
struct Witnesses {
    std::vector<double> n, other, q, total;
    std::size_t size = 0;

    explicit Witnesses(std::size_t most) : n(most), other(most), q(most), total(most) {}

    // The next one is written over it unless it is kept.
    void add(const Witness& w, bool is_kept) {
        n[size] = w.n;
        other[size] = w.other;
        q[size] = w.q;
        total[size] = w.total;
        size += is_kept;
    }
};

constexpr std::size_t kTerms = 128;  // that are computed together

PRIORWISE_WIDE void list_terms(const double* n, const double* other, const double* q,
                               const double* total, std::size_t size, double c,
                               double* __restrict terms) {
    for (std::size_t i = 0; i < size; ++i)
        terms[i] =
            n[i] * c * (q[i] * total[i] - other[i]) / ((other[i] + c * q[i]) * (total[i] + c));
}

// d / d log c of the leave-one-out log-likelihood.
double derivative(const Witnesses& cells, double c) {
    poll_interrupt();
    double sum = 0.0;
    std::array<double, kTerms> terms;
    for (std::size_t first = 0; first < cells.size; first += kTerms) {
        const auto size = std::min(kTerms, cells.size - first);
        list_terms(cells.n.data() + first, cells.other.data() + first, cells.q.data() + first,
                   cells.total.data() + first, size, c, terms.data());
        for (std::size_t i = 0; i < size; ++i) sum += terms[i];
    }
    return sum;
}

// The zero of the derivative, by bisection of log c and a last secant step.
double best_weight(const Witnesses& cells) {
    double low = kLowest, high = kHighest;
    double at_low = derivative(cells, low), at_high = derivative(cells, high);
    if (at_low <= 0.0) return low;
    if (at_high >= 0.0) return high;
    for (int step = 0; step < 7; ++step) {
        const double middle = std::sqrt(low * high);
        const double at_middle = derivative(cells, middle);
        (at_middle > 0.0 ? low : high) = middle;
        (at_middle > 0.0 ? at_low : at_high) = at_middle;
    }
    const double share = at_low / (at_low - at_high);
    return low * std::pow(high / low, share);
}

}  // namespace

std::vector<double> level_weights(const TreeView& tree, std::span<const double> row_weight) {
    const auto n_levels = tree.level_start.size() - 1;
    std::vector<double> weight(n_levels, 1.0);
    std::vector<double> left_out(tree.counts.size(), 0.0);  // leave-one-out estimate per cell
    std::int64_t most = 0;                                  // cells of a level
    for (std::size_t level = 1; level < n_levels; ++level)
        most = std::max(most, tree.row_start[tree.level_start[level + 1]] -
                                  tree.row_start[tree.level_start[level]]);
    Witnesses cells(static_cast<std::size_t>(most));
    for (std::size_t level = 0; level < n_levels; ++level) {
        const auto for_cells = [&](auto&& body) {
            for (auto node = tree.level_start[level]; node < tree.level_start[level + 1]; ++node) {
                poll_every<1024>(node);
                const auto first = tree.row_start[node], last = tree.row_start[node + 1];
                const double total = tree.totals[node];
                const double of_row = row_weight.empty() ? 1.0 : row_weight[node];
                for (auto cell = first; cell < last; ++cell) {
                    const double n = tree.counts[cell];
                    if (n <= 0.0) continue;
                    const double removed = std::min(of_row, n);
                    const double q =
                        level == 0 ? 1.0 / tree.n_outcomes : left_out[tree.parent_cell[cell]];
                    body(cell, Witness{n, n - removed, q, std::max(0.0, total - removed)});
                }
            }
        };
        if (level > 0) {
            cells.size = 0;
            for_cells([&](auto, const Witness& w) { cells.add(w, w.total > 0.0); });
            weight[level] = cells.size == 0 ? weight[level - 1] : best_weight(cells);
        }
        const double c = weight[level];
        for_cells([&](auto cell, const Witness& w) {
            left_out[cell] = std::max(kLeastEstimate, (w.other + c * w.q) / (w.total + c));
        });
    }
    return weight;
}

std::vector<double> spread_row_weights(const CountTree& tree,
                                       std::span<const double> class_row_weight) {
    std::vector<double> of_node(tree.parent.size(), 1.0);
    double sum = 0.0, total = 0.0;
    for (std::size_t node = 1; node < tree.parent.size(); ++node) {
        const auto above = tree.parent[node];
        of_node[node] = above == 0 ? class_row_weight[tree.value[node]] : of_node[above];
        if (above == 0) {
            sum += tree.totals[node] * of_node[node];
            total += tree.totals[node];
        }
    }
    if (total > 0.0) of_node[0] = sum / total;
    return of_node;
}

namespace {

// Places 0 .. n - 1 in the order of their keys below n_keys; equal ones stay in the given order.
template <class Key>
std::vector<std::int32_t> sort_places(std::vector<std::int32_t> places, std::size_t n_keys,
                                      Key&& key) {
    if (n_keys > 4 * places.size() + 4096) {
        std::stable_sort(places.begin(), places.end(),
                         [&](auto a, auto b) { return key(a) < key(b); });
        return places;
    }
    std::vector<std::int32_t> start(n_keys + 1, 0), sorted(places.size());
    for (const auto place : places) ++start[static_cast<std::size_t>(key(place)) + 1];
    for (std::size_t k = 0; k < n_keys; ++k) start[k + 1] += start[k];
    for (const auto place : places) sorted[start[key(place)]++] = place;
    return sorted;
}

// Estimates of scored rows only: each row needs its path under each class, and nothing else of the
// tree is smoothed. O(rows x (classes x levels + log rows)).
class BlockScorer {
  public:
    BlockScorer(const CrossFit& fit, float* out)
        : fit_(fit),
          n_own_levels_(static_cast<std::int32_t>(fit.factor.path.size()) + 1),
          out_(out),
          counts_(fit.tree.counts.begin(), fit.tree.counts.end()),
          totals_(fit.tree.totals.begin(), fit.tree.totals.end()),
          estimates_(static_cast<std::size_t>(n_own_levels_) * fit.factor.n_classes) {
        std::vector<std::int32_t> rows;
        for (std::int32_t row = 0; row < fit.n_rows; ++row)
            if (fit.block[row] >= 0 && fit.factor.column[row] >= 0) rows.push_back(row);
        // Rows are sorted by context, so that neighbours read the same memory; for scores by the
        // value first, so that neighbours share the estimates of their first levels.
        const auto block = [&](std::int32_t row) { return fit.block[row]; };
        const auto n_blocks = static_cast<std::size_t>(fit.n_blocks);
        rows = sort_places(std::move(rows), fit.factor.value.size(),
                           [&](std::int32_t row) { return contexts_of(row)[n_own_levels_ - 1]; });
        counted_ = sort_places(rows, n_blocks, block);
        rows = sort_places(std::move(rows), static_cast<std::size_t>(fit.factor.n_outcomes),
                           [&](std::int32_t row) { return fit.factor.column[row]; });
        scored_ = sort_places(std::move(rows), n_blocks, block);
    }

    void score() {
        WorkPoll poll;
        for (std::size_t first = 0, last = 0; first < scored_.size(); first = last) {
            const auto block = fit_.block[scored_[first]];
            while (last < scored_.size() && fit_.block[scored_[last]] == block) ++last;
            take_out(std::span(counted_).subspan(first, last - first));
            const std::int32_t* above = nullptr;
            for (auto at = first; at < last; ++at) {
                poll.add(std::int64_t{fit_.factor.n_classes} * fit_.n_levels);
                score_row(scored_[at], above);
                above = &scored_[at];
            }
            put_back();
        }
    }

  private:
    // A change of a node's counts by a row; the cell is -1 if the node does not list its outcome.
    struct Change {
        std::int64_t cell;
        double by;
        std::int32_t node;
    };

    const std::int32_t* contexts_of(std::int32_t row) const {
        return fit_.contexts.data() + static_cast<std::size_t>(row) * n_own_levels_;
    }

    void take_out(std::span<const std::int32_t> rows) {
        changes_.clear();
        for (const auto row : rows) {
            const auto x = fit_.factor.column[row];
            const double by = fit_.row_weight ? fit_.row_weight[row] : 1.0;
            const auto* contexts = contexts_of(row);
            std::int32_t node = 0;
            changes_.push_back({fit_.factor.find_cell(node, x), by, node});
            for (std::int32_t level = 0; level < n_own_levels_; ++level) {
                const auto next = fit_.factor.class_nodes(contexts[level])[fit_.y[row]];
                if (next != node) changes_.push_back({fit_.factor.find_cell(next, x), by, next});
                node = next;
            }
        }
        for (const auto& change : changes_) apply(change, -change.by);
    }

    void put_back() {
        for (const auto& change : changes_) apply(change, change.by);
    }

    void apply(const Change& change, double by) {
        totals_[change.node] = std::max(0.0, totals_[change.node] + by);
        if (change.cell >= 0) counts_[change.cell] = std::max(0.0, counts_[change.cell] + by);
    }

    // `above`, if not null, is the row of the same block that was scored before.
    void score_row(std::int32_t row, const std::int32_t* above) {
        const auto& factor = fit_.factor;
        const auto n_classes = factor.n_classes, n_levels = fit_.n_levels;
        const auto x = factor.column[row];
        const auto* contexts = contexts_of(row);
        float* out = out_ + std::int64_t{row} * n_classes * n_levels;
        std::int32_t n_shared = 0;
        if (above && factor.column[*above] == x)
            n_shared = static_cast<std::int32_t>(
                std::mismatch(contexts, contexts + n_own_levels_, contexts_of(*above)).first -
                contexts);
        for (std::int32_t level = n_shared; level < n_own_levels_; ++level) {
            auto* estimates = estimates_.data() + static_cast<std::size_t>(level) * n_classes;
            if (level > 0) {
                std::copy_n(estimates - n_classes, n_classes, estimates);
            } else {
                const double at_root = shrink_towards(1.0 / fit_.tree.n_outcomes, 0, x);
                std::fill_n(estimates, n_classes, Estimate{0, log_p(at_root), at_root});
            }
            const auto* nodes = factor.class_nodes(contexts[level]);
            for (std::int32_t y = 0; y < n_classes; ++y) {
                // The node of a context is that of the context above, or a child of it.
                if (nodes[y] == estimates[y].node) continue;
                const double p = shrink_towards(estimates[y].p, nodes[y], x);
                estimates[y] = {nodes[y], log_p(p), p};
            }
        }
        for (std::int32_t level = 0; level < n_levels; ++level) {
            const auto* estimates =
                estimates_.data() +
                static_cast<std::size_t>(std::min(level, n_own_levels_ - 1)) * n_classes;
            for (std::int32_t y = 0; y < n_classes; ++y)
                out[static_cast<std::int64_t>(y) * n_levels + level] = estimates[y].log_p;
        }
    }

    // An outcome that a sparse node does not list has no rows there.
    double shrink_towards(double base, std::int32_t node, std::int32_t x) const {
        const double w = fit_.weight[node], total = totals_[node];
        if (total <= 0.0) return base;
        const auto cell = fit_.factor.find_cell(node, x);
        return ((cell >= 0 ? counts_[cell] : 0.0) + w * base) / (total + w);
    }

    static float log_p(double p) { return std::log(static_cast<float>(std::max(p, 1e-30))); }

    struct Estimate {
        std::int32_t node;
        float log_p;
        double p;
    };

    const CrossFit& fit_;
    const std::int32_t n_own_levels_;  // the class level and one for each parent of the factor
    float* out_;
    std::vector<double> counts_;                  // per cell, without the rows of a block
    std::vector<double> totals_;                  // per node, likewise
    std::vector<Estimate> estimates_;             // per level and class, of the row scored last
    std::vector<std::int32_t> counted_, scored_;  // rows, block by block
    std::vector<Change> changes_;                 // by the rows of a block
};

}  // namespace

std::vector<std::int32_t> find_contexts(const Factor& factor, std::int64_t n_rows) {
    const auto n_levels = factor.path.size() + 1;
    std::vector<std::int32_t> contexts(static_cast<std::size_t>(n_rows) * n_levels, 0);
    for (std::int64_t row = 0; row < n_rows; ++row) {
        poll_every<1 << 12>(row);
        auto* of_row = contexts.data() + static_cast<std::size_t>(row) * n_levels;
        for (std::size_t level = 1; level < n_levels; ++level) {
            const auto next = factor.step(of_row[level - 1], factor.path[level - 1][row]);
            of_row[level] = next >= 0 ? next : of_row[level - 1];
        }
    }
    return contexts;
}

void cross_fit_levels(const CrossFit& fit, float* out) {
    BlockScorer(fit, out).score();
}

std::vector<double> weigh_levels(const TreeView& tree, std::span<const double> log_p,
                                 std::span<const double> level_weight) {
    // The difference of two infinite logarithms would be NaN.
    const auto finite = [&](std::int64_t cell) { return std::max(log_p[cell], kLeastLog); };
    std::vector<double> score(log_p.size());
    for (std::size_t level = 0; level + 1 < tree.level_start.size(); ++level) {
        const auto first = tree.row_start[tree.level_start[level]];
        const auto last = tree.row_start[tree.level_start[level + 1]];
        const double weight = level_weight[level > 0 ? level - 1 : 0];
        for (auto cell = first; cell < last; ++cell) {
            const auto above = tree.parent_cell[cell];
            score[cell] = level == 0 ? weight * finite(cell)
                                     : score[above] + weight * (finite(cell) - finite(above));
        }
    }
    return score;
}

}  // namespace priorwise
