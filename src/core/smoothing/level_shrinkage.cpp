#include "smoothing/level_shrinkage.hpp"

#include <algorithm>
#include <cmath>

#include "smoothing/additive.hpp"

namespace priorwise {
namespace {

constexpr double kLowest = 0.125;
constexpr double kHighest = 1024.0;
// Least leave-one-out estimate: a deep chain of nodes with many other rows would bring it to zero.
constexpr double kLeastEstimate = 1e-280;

// A cell that says something about c: its node has other rows.
struct Witness {
    double n;      // rows
    double other;  // n less one
    double q;
    double total;  // of the node, less one
};

// d / d log c of the leave-one-out log-likelihood.
double derivative(std::span<const Witness> cells, double c) {
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

std::vector<double> level_weights(const TreeView& tree) {
    const auto n_levels = tree.level_start.size() - 1;
    std::vector<double> weight(n_levels, 1.0);
    std::vector<double> left_out(tree.counts.size(), 0.0);  // leave-one-out estimate per cell
    std::vector<Witness> cells;
    for (std::size_t level = 0; level < n_levels; ++level) {
        const auto for_cells = [&](auto&& body) {
            for (auto node = tree.level_start[level]; node < tree.level_start[level + 1]; ++node) {
                const auto first = tree.row_start[node], last = tree.row_start[node + 1];
                double total = 0.0;
                for (auto cell = first; cell < last; ++cell) total += tree.counts[cell];
                for (auto cell = first; cell < last; ++cell) {
                    const double n = tree.counts[cell];
                    if (n <= 0.0) continue;
                    const double removed = std::min(1.0, n);
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

namespace {

class BlockScorer {
  public:
    BlockScorer(const CrossFit& fit, float* out)
        : fit_(fit),
          out_(out),
          counts_(fit.tree.counts.begin(), fit.tree.counts.end()),
          p_(counts_.size()),
          cell_(static_cast<std::size_t>(fit.n_rows)) {
        for (std::int64_t row = 0; row < fit.n_rows; ++row) cell_[row] = find_own_cell(row);
    }

    void score(std::int32_t block) {
        change_counts(block, -1.0);
        TreeView without = fit_.tree;
        without.counts = counts_;
        shrink(without, fit_.weight, Base::kParent, true, p_);
        for (std::int64_t row = 0; row < fit_.n_rows; ++row)
            if (fit_.block[row] == block) score_row(row);
        change_counts(block, 1.0);
    }

  private:
    // Where the row itself is counted; -1 if it is not.
    std::int64_t find_own_cell(std::int64_t row) const {
        const auto& factor = fit_.factor;
        if (factor.column[row] < 0 || (fit_.row_weight && fit_.row_weight[row] == 0.0)) return -1;
        const auto context = factor.find_context(row);
        const auto node = factor.node[context * factor.n_classes + fit_.y[row]];
        return factor.find_cell(node, factor.column[row]);
    }

    void change_counts(std::int32_t block, double sign) {
        for (std::int64_t row = 0; row < fit_.n_rows; ++row) {
            if (fit_.block[row] != block) continue;
            const double by = sign * (fit_.row_weight ? fit_.row_weight[row] : 1.0);
            for (auto cell = cell_[row]; cell >= 0; cell = fit_.tree.parent_cell[cell])
                counts_[cell] = std::max(0.0, counts_[cell] + by);
        }
    }

    void score_row(std::int64_t row) {
        const auto& factor = fit_.factor;
        const auto x = factor.column[row];
        float* out = out_ + row * factor.n_classes * fit_.n_levels;
        std::int32_t context = 0;
        for (std::int32_t level = 0; level < fit_.n_levels; ++level) {
            if (level > 0 && static_cast<std::size_t>(level) <= factor.path.size()) {
                const auto next = factor.step(context, factor.path[level - 1][row]);
                if (next >= 0) context = next;
            }
            for (std::int32_t y = 0; y < factor.n_classes; ++y)
                out[y * fit_.n_levels + level] =
                    x < 0 ? 0.0F : log_p(factor.node[context * factor.n_classes + y], x);
        }
    }

    // An outcome that a sparse node does not list has what its parent gives, scaled.
    float log_p(std::int32_t node, std::int32_t x) const {
        double scale = 1.0;
        for (;; node = fit_.tree.parent[node]) {
            const auto cell = fit_.factor.find_cell(node, x);
            if (cell >= 0) return static_cast<float>(std::log(std::max(scale * p_[cell], 1e-30)));
            const double w = fit_.weight[node];
            double total = 0.0;
            for (auto c = fit_.tree.row_start[node]; c < fit_.tree.row_start[node + 1]; ++c)
                total += counts_[c];
            scale *= total > 0.0 ? w / (total + w) : 1.0;
            if (node == 0)
                return static_cast<float>(std::log(std::max(scale / fit_.tree.n_outcomes, 1e-30)));
        }
    }

    const CrossFit& fit_;
    float* out_;
    std::vector<double> counts_;
    std::vector<double> p_;
    std::vector<std::int64_t> cell_;
};

}  // namespace

void cross_fit_levels(const CrossFit& fit, float* out) {
    BlockScorer scorer(fit, out);
    for (std::int32_t block = 0; block < fit.n_blocks; ++block) scorer.score(block);
}

std::vector<double> weigh_levels(const TreeView& tree, std::span<const double> log_p,
                                 std::span<const double> level_weight) {
    std::vector<double> score(log_p.size());
    for (std::size_t level = 0; level + 1 < tree.level_start.size(); ++level) {
        const auto first = tree.row_start[tree.level_start[level]];
        const auto last = tree.row_start[tree.level_start[level + 1]];
        const double weight = level_weight[level > 0 ? level - 1 : 0];
        for (auto cell = first; cell < last; ++cell) {
            const auto above = tree.parent_cell[cell];
            score[cell] = level == 0 ? weight * log_p[cell]
                                     : score[above] + weight * (log_p[cell] - log_p[above]);
        }
    }
    return score;
}

}  // namespace priorwise
