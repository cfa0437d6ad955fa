// Estimates of probabilities from trees of counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counts/count_tree.hpp"
#include "counts/factor.hpp"

namespace priorwise {

enum class Base { kUniform, kParent };

// MLE, Laplace, m-estimate, M-branch and the downward pass of HDP, in one forward pass:
// p_k = (n_k + w * base_k) / (N + w), with w the weight of the node and base either uniform or the
// parent's row (uniform above the root). A node with N = 0 copies its parent unless copy_empty is
// off, and so does one with N + w = 0.
void shrink(const TreeView& tree, std::span<const double> weight, Base base, bool copy_empty,
            std::span<double> p);

// Height of each node: 1 at a leaf, one more than the highest child elsewhere.
void node_heights(std::span<const std::int32_t> parent, std::span<std::int32_t> height);

// Smoothers that were made for decision trees: hierarchical shrinkage and the average over all
// prunings. Both read the frequencies of a node and of its ancestors, so they work on any tree.

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

// Hierarchical gradient smoothing: a node is smoothed towards all its ancestors at once.
//
//     p_uk = (n_uk + sum_a alpha_a theta_ak) / (N_u + sum_a alpha_a),  a over the ancestors of u
//
// theta_a = n_a / N_a is the frequency at the ancestor; the root counts one more row, spread evenly
// over the outcomes, so that no theta is zero everywhere. The leave-one-out estimate of a row takes
// the row out of its leaf and of every ancestor; an ancestor with no other row has its parent's
// leave-one-out estimate.

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

// Weights c of theta = (n + c theta_parent) / (N + c), one per level, that maximise the
// leave-one-out likelihood
//
//     sum over rows of w log[(n - w + c q) / (N - w + c)],  q the parent's leave-one-out estimate,
//
// with w the weight of the row, which is left out as a whole: row_weight of its node, or 1 if
// row_weight is empty. They are found level by level from the root, whose own weight is 1 towards
// uniform, between 2^-3 and 2^10, by the sign of the derivative: no logarithms. O(cells) for each
// of a few dozen steps.
std::vector<double> level_weights(const TreeView& tree, std::span<const double> row_weight = {});

// The mean weight of a row at every node of a tree whose first level is the class, given that of
// the rows of each class. At the root it is the mean over all rows.
std::vector<double> spread_row_weights(const CountTree& tree,
                                       std::span<const double> class_row_weight);

// Scores of the cells with a weight on the change of log probability at each level:
//
//     S_u = S_parent + w_level (log p_u - log p_parent),  S_root = w_0 log p_root,
//
// with the class level and the root sharing the first weight. Probabilities below 1e-300 count as
// 1e-300. O(cells).
std::vector<double> weigh_levels(const TreeView& tree, std::span<const double> log_p,
                                 std::span<const double> level_weight);

// The contexts that each row meets: the root, then one per parent (rows, levels). A path that ends
// early repeats its deepest context.
std::vector<std::int32_t> find_contexts(const Factor& factor, std::int64_t n_rows);

// Rows of a factor, and the blocks of rows that are left out together.
struct CrossFit {
    const Factor& factor;
    const TreeView& tree;
    std::span<const double> weight;          // per node
    std::span<const std::int32_t> contexts;  // of the rows, as `find_contexts` gives them
    const std::int32_t* y;
    const double* row_weight;   // null: 1
    const std::int32_t* block;  // per row; rows of block -1 are counted throughout and not scored
    std::int32_t n_blocks;
    std::int32_t n_levels;  // class level, then parents
    std::int64_t n_rows;
};

// out[(row * classes + y) * levels + l] = log theta_l(x | y, first l parents) with the counts of
// the row's block taken out. A path that ends early repeats its deepest level; a value of x that
// training did not have gives zero. Rows of block -1 are left as they are.
void cross_fit_levels(const CrossFit& fit, float* out);

}  // namespace priorwise
