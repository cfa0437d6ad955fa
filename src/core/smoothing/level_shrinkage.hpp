// Shrinkage with one weight per level, and estimates by level of rows left out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counts/factor.hpp"

namespace priorwise {

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

// Rows of a factor, and the blocks of rows that are left out together.
struct CrossFit {
    const Factor& factor;
    const TreeView& tree;
    std::span<const double> weight;  // per node
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
