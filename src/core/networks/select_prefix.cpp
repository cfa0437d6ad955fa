#include "networks/select_prefix.hpp"

#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// If the largest class is below this, all are scaled up, because products would underflow.
constexpr double kSmall = 1e-200;

// Numbers held at once for a block of rows: they stay in the cache, and so do a factor's tables
// while the block passes through it.
constexpr std::int64_t kHeld = 1 << 15;

// Joint probabilities are kept as products, so that no row needs logarithms or exponentials.
template <class Sum>
class BlockScorer {
  public:
    BlockScorer(const PrefixSelection& selection, std::span<Sum> losses)
        : selection_(selection),
          losses_(losses),
          n_classes_(static_cast<std::int64_t>(selection.class_count.size())),
          n_depths_(std::int64_t{selection.max_parents} + 1),
          size_(n_depths_ * n_classes_) {
        for (const double count : selection.class_count) class_total_ += count;
    }

    std::int64_t block_rows() const { return std::max<std::int64_t>(16, kHeld / size_); }

    void add_rows(std::int64_t first, std::int64_t last) {
        joint_.resize(static_cast<std::size_t>((last - first) * size_));
        for (auto row = first; row < last; ++row) {
            const auto y = selection_.y[row];
            for (std::int64_t depth = 0; depth < n_depths_; ++depth) {
                double* joint = joint_.data() + (row - first) * size_ + depth * n_classes_;
                std::ranges::copy(selection_.class_count, joint);
                joint[y] = std::max(0.0, joint[y] - removed(row));
            }
            add_losses(row, 0, joint_.data() + (row - first) * size_);
        }
        for (std::size_t f = 0; f < selection_.factors.size(); ++f) {
            poll_interrupt();
            for (auto row = first; row < last; ++row) {
                double* joint = joint_.data() + (row - first) * size_;
                add_factor(f, row, joint);
                add_losses(row, f + 1, joint);
            }
        }
    }

  private:
    double weight(std::int64_t row) const {
        return selection_.row_weight ? selection_.row_weight[row] : 1.0;
    }

    // A row is left out as a whole, whatever its weight.
    double removed(std::int64_t row) const { return weight(row); }

    void add_factor(std::size_t f, std::int64_t row, double* joint) {
        const auto& factor = selection_.factors[f];
        const auto p = selection_.shrinkage[f].p;
        const auto x = factor.column[row];
        const auto y = selection_.y[row];
        if (x < 0 || weight(row) == 0.0) return;
        const auto& share = selection_.shrinkage[f].root_share;
        const auto& left_out = selection_.shrinkage[f].left_out;
        const bool whole_row = removed(row) == 1.0;
        const double change = change_at_root(f, x, removed(row));
        // Deeper levels than the factor has repeat its deepest.
        std::int32_t context = 0;
        bool known = true;  // false once a context was merged away: deeper levels back off too
        for (std::int64_t depth = 0; depth < n_depths_; ++depth) {
            if (known && depth > 0 && static_cast<std::size_t>(depth) <= factor.path.size()) {
                const auto next = factor.step(context, factor.path[depth - 1][row]);
                known = next >= 0;
                if (known) context = next;
            }
            const auto* nodes = factor.class_nodes(context);
            double* of_depth = joint + depth * n_classes_;
            for (std::int64_t other = 0; other < n_classes_; ++other) {
                const auto cell = factor.find_cell(nodes[other], x);
                // A row that was counted has a cell at the nodes of its class.
                if (other == y && cell >= 0) {
                    if (whole_row) of_depth[y] *= left_out[cell];
                    continue;
                }
                const double whole =
                    cell >= 0 ? p[cell] : std::exp(factor.log_probability(nodes[other], x));
                of_depth[other] *= std::max(0.0, whole + share[nodes[other]] * change);
            }
        }
        if (!whole_row)
            add_own_class(f, factor.class_nodes(context)[y], x, removed(row), joint + y);
    }

    // Change of the root's estimate of x when the row is taken out.
    double change_at_root(std::size_t f, std::int32_t x, double removed) const {
        const auto& shrinkage = selection_.shrinkage[f];
        if (!shrinkage.towards_parent) return 0.0;
        const auto& factor = selection_.factors[f];
        const auto cell = factor.find_cell(0, x);
        if (cell < 0) return 0.0;  // the row was not counted
        if (removed == 1.0) return shrinkage.left_out[cell] - shrinkage.p[cell];
        const double w = shrinkage.weight[0];
        const double total = shrinkage.total[0] - removed;
        const double uniform = 1.0 / factor.n_outcomes;
        const double without =
            total > 1e-9 * removed
                ? (std::max(0.0, shrinkage.counts[cell] - removed) + w * uniform) / (total + w)
                : uniform;
        return without - shrinkage.p[cell];
    }

    // Along the row's own path, from the root down, with the weight of the row taken out.
    void add_own_class(std::size_t f, std::int32_t deepest, std::int32_t x, double removed,
                       double* joint) {
        const auto& factor = selection_.factors[f];
        const auto& shrinkage = selection_.shrinkage[f];
        path_.clear();
        auto cell = factor.find_cell(deepest, x);
        if (cell < 0) return;  // the row was not counted
        for (auto node = deepest; node >= 0; node = factor.parent[node]) {
            path_.push_back({node, cell});
            cell = shrinkage.parent_cell[cell];
        }
        const double uniform = 1.0 / factor.n_outcomes;
        double p = uniform;
        std::int64_t depth = -1;  // the root stands above the class
        for (auto at = path_.rbegin(); at != path_.rend(); ++at, ++depth) {
            const double n = shrinkage.counts[at->cell] - removed;
            const double total = shrinkage.total[at->node] - removed;
            const double w = shrinkage.weight[at->node];
            // If the node had no other row, rounding may leave a small remainder.
            if (total > 1e-9 * removed)
                p = (std::max(0.0, n) + w * (shrinkage.towards_parent ? p : uniform)) / (total + w);
            if (depth >= 0 && depth < n_depths_) joint[depth * n_classes_] *= p;
        }
        for (; depth < n_depths_; ++depth)
            if (depth >= 0) joint[depth * n_classes_] *= p;
    }

    void add_losses(std::int64_t row, std::size_t n_features, double* joint) {
        const double w = weight(row);
        if (w == 0.0) return;
        for (std::int64_t depth = 0; depth < n_depths_; ++depth, joint += n_classes_)
            add_loss(losses_[depth * (selection_.factors.size() + 1) + n_features],
                     w * loss(joint, row));
    }

    static void add_loss(double& sum, double loss) { sum += loss; }
    static void add_loss(LossSum& sum, double loss) { sum.add(loss); }

    double loss(double* joint, std::int64_t row) const {
        const auto y = selection_.y[row];
        double sum = 0.0;
        for (std::int64_t c = 0; c < n_classes_; ++c) sum += joint[c];
        if (sum < kSmall && sum > 0.0) {
            for (std::int64_t c = 0; c < n_classes_; ++c) joint[c] /= sum;
            sum = 1.0;
        }
        const double p = sum > 0.0 ? joint[y] / sum : prior_without(row);
        return selection_.loss == SelectionLoss::kLog ? -std::log(std::max(p, 1e-300))
                                                      : (1.0 - p) * (1.0 - p);
    }

    // The prior of the row's class without the row; uniform if there is no other row.
    double prior_without(std::int64_t row) const {
        const double others = class_total_ - removed(row);
        if (others <= 0.0) return 1.0 / static_cast<double>(n_classes_);
        return std::max(0.0, selection_.class_count[selection_.y[row]] - removed(row)) / others;
    }

    struct PathStep {
        std::int32_t node;
        std::int64_t cell;
    };

    const PrefixSelection& selection_;
    std::span<Sum> losses_;
    std::int64_t n_classes_;
    std::int64_t n_depths_;
    std::int64_t size_;  // numbers per row
    double class_total_ = 0.0;
    std::vector<double> joint_;  // per row, depth and class
    std::vector<PathStep> path_;
};

}  // namespace

std::vector<double> root_shares(std::span<const std::int32_t> parent, std::span<const double> total,
                                std::span<const double> weight, bool towards_parent) {
    std::vector<double> share(parent.size(), 0.0);
    if (!towards_parent) return share;
    share[0] = 1.0;
    for (std::size_t node = 1; node < parent.size(); ++node) {
        const double denominator = total[node] + weight[node];
        share[node] = share[parent[node]] * (total[node] > 0.0 ? weight[node] / denominator : 1.0);
    }
    return share;
}

std::vector<double> left_out_estimates(const TreeView& tree, std::span<const double> total,
                                       std::span<const double> weight, bool towards_parent) {
    std::vector<double> p(tree.counts.size());
    const double uniform = 1.0 / tree.n_outcomes;
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        const double others = total[node] - 1.0;
        const double w = weight[node];
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            const double above = node == 0 ? uniform : p[tree.parent_cell[cell]];
            const double base = towards_parent ? above : uniform;
            p[cell] = others > 1e-9
                          ? (std::max(0.0, tree.counts[cell] - 1.0) + w * base) / (others + w)
                          : above;
        }
    }
    return p;
}

template <class Sum>
void add_leave_one_out_losses(const PrefixSelection& selection, std::int64_t first,
                              std::int64_t last, std::span<Sum> losses) {
    BlockScorer<Sum> scorer(selection, losses);
    for (auto row = first; row < last; row += scorer.block_rows())
        scorer.add_rows(row, std::min(last, row + scorer.block_rows()));
}

template void add_leave_one_out_losses(const PrefixSelection&, std::int64_t, std::int64_t,
                                       std::span<double>);
template void add_leave_one_out_losses(const PrefixSelection&, std::int64_t, std::int64_t,
                                       std::span<LossSum>);

}  // namespace priorwise
