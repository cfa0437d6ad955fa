#include "smoothing/smoothers.hpp"

#include <algorithm>

namespace priorwise {
namespace {

// A power of two that keeps the sum of a node's counts and weight, of which `larger` is the larger
// one, away from overflow and from the loss of bits below the smallest normal number. It is one for
// ordinary numbers, so that it changes no bit there.
double safe_scale(double larger) {
    if (larger >= 0x1p900) return 0x1p-600;
    return larger < 0x1p-900 ? 0x1p600 : 1.0;
}

}  // namespace

void shrink(const TreeView& tree, std::span<const double> weight, Base base, bool copy_empty,
            std::span<double> p) {
    const double uniform = 1.0 / tree.n_outcomes;
    // Parents precede children, so one forward pass meets every prior it needs.
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        const auto first = tree.row_start[node];
        const auto last = tree.row_start[node + 1];
        const double total = tree.totals[node];
        const double scale = safe_scale(std::max(total, weight[node]));
        const double w = scale * weight[node];
        const double denominator = scale * total + w;
        const bool copies = denominator <= 0.0 || (copy_empty && total <= 0.0);
        for (auto cell = first; cell < last; ++cell) {
            const double above = node == 0 ? uniform : p[tree.parent_cell[cell]];
            const double prior = base == Base::kParent ? above : uniform;
            p[cell] = copies ? above : (scale * tree.counts[cell] + w * prior) / denominator;
        }
    }
}

void node_heights(std::span<const std::int32_t> parent, std::span<std::int32_t> height) {
    std::ranges::fill(height, 1);
    for (auto node = parent.size() - 1; node > 0; --node) {
        auto& above = height[parent[node]];
        above = std::max(above, height[node] + 1);
    }
}

}  // namespace priorwise
