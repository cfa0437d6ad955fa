#include "smoothing/smoothers.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

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

// d / d log c of the leave-one-out log-likelihood.
double derivative(std::span<const Witness> cells, double c) {
    poll_interrupt();
    double sum = 0.0;
    for (const auto& cell : cells)
        sum += cell.n * c * (cell.q * cell.total - cell.other) /
               ((cell.other + c * cell.q) * (cell.total + c));
    return sum;
}

// The zero of the derivative, by bisection of log c and a last secant step.
double best_weight(std::span<const Witness> cells) {
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
    std::vector<Witness> cells;
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
            cells.clear();
            for_cells([&](auto, const Witness& w) {
                if (w.total > 0.0) cells.push_back(w);
            });
            weight[level] = cells.empty() ? weight[level - 1] : best_weight(cells);
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

// Estimates of scored rows only: each row needs its path under each class, and nothing else of the
// tree is smoothed. O(rows x (classes x levels + log rows)).
class BlockScorer {
  public:
    BlockScorer(const CrossFit& fit, float* out)
        : fit_(fit),
          out_(out),
          counts_(fit.tree.counts.begin(), fit.tree.counts.end()),
          totals_(fit.tree.totals.begin(), fit.tree.totals.end()),
          contexts_(static_cast<std::size_t>(fit.n_rows) * n_own_levels(), 0),
          rows_of_block_(static_cast<std::size_t>(fit.n_blocks)) {
        for (std::int64_t row = 0; row < fit.n_rows; ++row)
            if (fit.block[row] >= 0 && fit.factor.column[row] >= 0)
                rows_of_block_[fit.block[row]].push_back({walk(row), row});
        // Rows are sorted by context, so that neighbours read the same memory.
        for (auto& rows : rows_of_block_) sort_polling(rows.begin(), rows.end(), std::less{});
    }

    void score(std::int32_t block) {
        change_counts(block, -1.0);
        WorkPoll poll;
        for (const auto& [context, row] : rows_of_block_[block]) {
            poll.add(std::int64_t{fit_.factor.n_classes} * fit_.n_levels);
            score_row(row);
        }
        change_counts(block, 1.0);
    }

  private:
    // The class level and one level for each parent of the factor.
    std::size_t n_own_levels() const { return fit_.factor.path.size() + 1; }

    const std::int32_t* contexts_of(std::int64_t row) const {
        return contexts_.data() + static_cast<std::size_t>(row) * n_own_levels();
    }

    // Keep the context of the row at each level, and return the last. A path that ends early
    // repeats its deepest context.
    std::int32_t walk(std::int64_t row) {
        auto* contexts = contexts_.data() + static_cast<std::size_t>(row) * n_own_levels();
        for (std::size_t level = 1; level < n_own_levels(); ++level) {
            const auto next =
                fit_.factor.step(contexts[level - 1], fit_.factor.path[level - 1][row]);
            contexts[level] = next >= 0 ? next : contexts[level - 1];
        }
        return contexts[n_own_levels() - 1];
    }

    void change_counts(std::int32_t block, double sign) {
        for (const auto& [context, row] : rows_of_block_[block]) {
            const double by = sign * (fit_.row_weight ? fit_.row_weight[row] : 1.0);
            const auto* contexts = contexts_of(row);
            std::int32_t node = 0;
            change_node(node, row, by);
            for (std::size_t level = 0; level < n_own_levels(); ++level) {
                const auto next = fit_.factor.class_nodes(contexts[level])[fit_.y[row]];
                if (next != node) change_node(next, row, by);
                node = next;
            }
        }
    }

    void change_node(std::int32_t node, std::int64_t row, double by) {
        totals_[node] = std::max(0.0, totals_[node] + by);
        const auto cell = fit_.factor.find_cell(node, fit_.factor.column[row]);
        if (cell >= 0) counts_[cell] = std::max(0.0, counts_[cell] + by);
    }

    void score_row(std::int64_t row) {
        const auto& factor = fit_.factor;
        const auto x = factor.column[row];
        float* out = out_ + row * factor.n_classes * fit_.n_levels;
        const double at_root = shrink_towards(1.0 / fit_.tree.n_outcomes, 0, x);
        estimates_.assign(static_cast<std::size_t>(factor.n_classes), {0, at_root, log_p(at_root)});
        const auto* contexts = contexts_of(row);
        const auto last_level = static_cast<std::int32_t>(n_own_levels()) - 1;
        for (std::int32_t level = 0; level < fit_.n_levels; ++level) {
            const auto context = contexts[std::min(level, last_level)];
            for (std::int32_t y = 0; y < factor.n_classes; ++y) {
                auto& estimate = estimates_[y];
                // The node of a context is that of the context above, or a child of it.
                const auto node = factor.class_nodes(context)[y];
                if (node != estimate.node) {
                    const double p = shrink_towards(estimate.p, node, x);
                    estimate = {node, p, log_p(p)};
                }
                out[static_cast<std::int64_t>(y) * fit_.n_levels + level] = estimate.log_p;
            }
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
        double p;
        float log_p;
    };

    const CrossFit& fit_;
    float* out_;
    std::vector<double> counts_;          // per cell, without the rows of a block
    std::vector<double> totals_;          // per node, likewise
    std::vector<std::int32_t> contexts_;  // per row and level
    std::vector<std::vector<std::pair<std::int32_t, std::int64_t>>> rows_of_block_;  // context, row
    std::vector<Estimate> estimates_;  // per class, of the row that is scored
};

}  // namespace

void cross_fit_levels(const CrossFit& fit, float* out) {
    BlockScorer scorer(fit, out);
    for (std::int32_t block = 0; block < fit.n_blocks; ++block) scorer.score(block);
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
