// MLE, Laplace, m-estimate, M-branch and the downward pass of HDP: one forward pass.
#pragma once

#include <span>

#include "counts/count_tree.hpp"

namespace priorwise {

enum class Base { kUniform, kParent };

// p_k = (n_k + w * base_k) / (N + w), with w the weight of the node and base either uniform or the
// parent's row (uniform above the root). A node with N = 0 copies its parent unless copy_empty is
// off, and so does one with N + w = 0.
void shrink(const TreeView& tree, std::span<const double> weight, Base base, bool copy_empty,
            std::span<double> p);

// Height of each node: 1 at a leaf, one more than the highest child elsewhere.
void node_heights(std::span<const std::int32_t> parent, std::span<std::int32_t> height);

}  // namespace priorwise
