// Smoothers that were made for decision trees: hierarchical shrinkage and the average over all
// prunings. Both read the frequencies of a node and of its ancestors, so they work on any tree.
#pragma once

#include <span>

#include "counts/count_tree.hpp"

namespace priorwise {

// Hierarchical shrinkage (Agarwal et al. 2022), with theta the frequencies of a node, those of the
// root counting one more row spread evenly over the outcomes:
//
//     p_u = p_parent + (theta_u - theta_parent) / (1 + strength / N_parent)
//
// A node without rows copies its parent.
void shrink_hierarchically(const TreeView& tree, double strength, std::span<double> p);

// Average over all prunings of the tree (context-tree weighting, Willems et al. 1995). A node that
// is a leaf of the pruning answers with e = (n + pseudo / K) / (N + pseudo); the evidence E of its
// rows under that answer is Dirichlet-multinomial, raised to the power rate. With W the weight of
// all prunings below u,
//
//     W_u = stop E_u^rate + (1 - stop) prod_children W,   W = E^rate at a leaf,
//
// the pruning ends at u with posterior stop E_u^rate / W_u, given that it reaches u; `ends` gets
// that number, 1 at leaves.
struct PruningPrior {
    double stop;
    double pseudo;
    double rate;
};
void average_prunings(const TreeView& tree, const PruningPrior& prior, std::span<double> p,
                      std::span<double> ends);

}  // namespace priorwise
