// Hierarchical gradient smoothing: a node is smoothed towards all its ancestors at once.
//
//     p_uk = (n_uk + sum_a alpha_a theta_ak) / (N_u + sum_a alpha_a),  a over the ancestors of u
//
// theta_a = n_a / N_a is the frequency at the ancestor; the root counts one more row, spread evenly
// over the outcomes, so that no theta is zero everywhere. The leave-one-out estimate of a row takes
// the row out of its leaf and of every ancestor; an ancestor with no other row has its parent's
// leave-one-out estimate.
#pragma once

#include <span>
#include <vector>

#include "counts/count_tree.hpp"

namespace priorwise {

enum class RowLoss { kLog, kSquared };

// Mean leave-one-out loss of the rows, log2(1 / p) or (1 - p)^2 with p the estimate of the row's
// outcome, and its derivative by the weight alpha of each node (zero at leaves). O(cells).
double hgs_loss(const TreeView& tree, std::span<const double> alpha, RowLoss loss,
                std::span<double> gradient);

// The weights, one per level, that minimise the mean loss plus (log alpha)^2 / (2 sd^2 rows), with
// log alpha between -7 and 12. Returned per node.
std::vector<double> optimise_hgs_by_level(const TreeView& tree, RowLoss loss, double prior_sd);

// The estimate at every node. A node without rows copies its parent.
void hgs_estimate(const TreeView& tree, std::span<const double> alpha, std::span<double> p);

}  // namespace priorwise
