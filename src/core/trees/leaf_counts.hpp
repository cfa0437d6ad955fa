// Cells of a CountTree whose nodes are known: counts of the rows at its leaves.
#pragma once

#include <span>

#include "counts/count_tree.hpp"

namespace priorwise {

struct LeafRows {
    std::span<const std::int32_t> leaf;  // per row; -1: the row does not count
    std::span<const std::int32_t> outcome;
    const double* weight;  // null: every row counts once
    std::int32_t n_outcomes;
};

// Fill row_start, outcome, parent_cell and counts of a tree that has its nodes. Inner nodes hold
// the sum of their children. O(rows + cells).
void count_leaves(const LeafRows& rows, bool dense, CountTree& tree);

}  // namespace priorwise
