#include "select_prefix.hpp"

#include <algorithm>
#include <cmath>

namespace priorwise {
namespace {

class RowScorer {
  public:
    RowScorer(const PrefixSelection& selection, std::span<double> losses)
        : selection_(selection),
          losses_(losses),
          n_classes_(static_cast<std::int32_t>(selection.class_count.size())),
          n_depths_(selection.max_parents + 1),
          log_count_(selection.class_count.size()),
          joint_(static_cast<std::size_t>(n_depths_ * n_classes_)) {
        for (std::int32_t y = 0; y < n_classes_; ++y)
            log_count_[y] = std::log(selection.class_count[y]);
    }

    void add_row(std::int64_t row) {
        const double weight = selection_.row_weight ? selection_.row_weight[row] : 1.0;
        if (weight == 0.0) return;
        // A row of weight two is two rows: one of them is left out.
        const double removed = std::min(1.0, weight);
        const auto y = selection_.y[row];
        for (std::int32_t depth = 0; depth < n_depths_; ++depth) {
            double* joint = joint_.data() + depth * n_classes_;
            std::ranges::copy(log_count_, joint);
            joint[y] = std::log(std::max(0.0, selection_.class_count[y] - removed));
            add_loss(depth, 0, joint, y, weight);
        }
        for (std::size_t f = 0; f < selection_.factors.size(); ++f) {
            add_factor(f, row, y, removed);
            for (std::int32_t depth = 0; depth < n_depths_; ++depth)
                add_loss(depth, f + 1, joint_.data() + depth * n_classes_, y, weight);
        }
    }

  private:
    void add_factor(std::size_t f, std::int64_t row, std::int32_t y, double removed) {
        const auto& factor = selection_.factors[f];
        const auto x = factor.column[row];
        if (x < 0) return;
        // Deeper levels than the factor has repeat its deepest.
        std::int32_t context = 0;
        for (std::int32_t depth = 0; depth < n_depths_; ++depth) {
            if (depth > 0 && static_cast<std::size_t>(depth) <= factor.path.size()) {
                const auto next = factor.step(context, factor.path[depth - 1][row]);
                if (next >= 0) context = next;
            }
            const auto* nodes = factor.node.data() + context * n_classes_;
            double* joint = joint_.data() + depth * n_classes_;
            for (std::int32_t other = 0; other < n_classes_; ++other)
                if (other != y) joint[other] += factor.log_probability(nodes[other], x);
        }
        add_own_class(f, factor.node[context * n_classes_ + y], x, y, removed);
    }

    // Along the row's own path, from the root down, with the row taken out.
    void add_own_class(std::size_t f, std::int32_t deepest, std::int32_t x, std::int32_t y,
                       double removed) {
        const auto& factor = selection_.factors[f];
        const auto& shrinkage = selection_.shrinkage[f];
        path_.clear();
        auto cell = factor.find_cell(deepest, x);
        for (auto node = deepest; node >= 0; node = factor.parent[node]) {
            path_.push_back({node, cell});
            cell = shrinkage.parent_cell[cell];
        }
        const double uniform = 1.0 / factor.n_outcomes;
        double p = uniform;
        std::int32_t depth = -1;  // the root stands above the class
        for (auto at = path_.rbegin(); at != path_.rend(); ++at, ++depth) {
            const double n = shrinkage.counts[at->cell] - removed;
            const double total = shrinkage.total[at->node] - removed;
            const double w = shrinkage.weight[at->node];
            // Rounding may leave a trace of the row where nothing else was.
            if (total > 1e-9 * removed)
                p = (std::max(0.0, n) + w * (shrinkage.towards_parent ? p : uniform)) / (total + w);
            if (depth >= 0 && depth < n_depths_) joint_[depth * n_classes_ + y] += std::log(p);
        }
        for (; depth < n_depths_; ++depth)
            if (depth >= 0) joint_[depth * n_classes_ + y] += std::log(p);
    }

    void add_loss(std::int32_t depth, std::size_t n_features, const double* joint, std::int32_t y,
                  double weight) {
        const double largest = *std::max_element(joint, joint + n_classes_);
        double sum = 0.0;
        for (std::int32_t c = 0; c < n_classes_; ++c) sum += std::exp(joint[c] - largest);
        const double log_p =
            std::isinf(largest) ? -std::log(n_classes_) : joint[y] - largest - std::log(sum);
        double loss;
        if (selection_.loss == SelectionLoss::kLog) {
            loss = -std::max(log_p, -700.0);
        } else {
            const double miss = 1.0 - std::exp(log_p);
            loss = miss * miss;
        }
        losses_[depth * (selection_.factors.size() + 1) + n_features] += weight * loss;
    }

    struct PathStep {
        std::int32_t node;
        std::int64_t cell;
    };

    const PrefixSelection& selection_;
    std::span<double> losses_;
    std::int32_t n_classes_;
    std::int32_t n_depths_;
    std::vector<double> log_count_;
    std::vector<double> joint_;  // per depth and class
    std::vector<PathStep> path_;
};

}  // namespace

void add_leave_one_out_losses(const PrefixSelection& selection, std::int64_t first,
                              std::int64_t last, std::span<double> losses) {
    RowScorer scorer(selection, losses);
    for (auto row = first; row < last; ++row) scorer.add_row(row);
}

}  // namespace priorwise
