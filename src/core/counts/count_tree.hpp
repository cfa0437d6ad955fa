// A tree of counts, flat and in level order.
//
// Nodes are numbered level by level, so a parent precedes its children; the children of a node are
// contiguous and sorted by the value that leads to them. Node u owns the cells row_start[u] ..
// row_start[u + 1]: one cell per outcome, sorted by outcome. A dense tree lists every outcome at
// every node; a sparse one (many outcomes) only those that occur below the node. In both cases the
// cell of outcome k at u has a cell of outcome k at the parent of u: parent_cell points at it, so
// cells are numbered parent before child too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

// Spans over the arrays of a tree that a kernel reads and does not own.
struct TreeView {
    std::int32_t n_outcomes;
    std::span<const std::int32_t> parent;
    std::span<const std::int64_t> level_start;
    std::span<const std::int64_t> row_start;
    std::span<const std::int32_t> parent_cell;
    std::span<const double> counts;
    std::span<const double> totals;  // per node, of its counts

    std::int32_t n_nodes() const { return static_cast<std::int32_t>(parent.size()); }
};

struct CountTree {
    std::int32_t n_outcomes = 0;
    std::vector<std::int32_t> parent;       // per node; -1 at the root
    std::vector<std::int32_t> value;        // per node: the value that leads to it; -1 at the root
    std::vector<std::int64_t> level_start;  // per level, and one past the last
    std::vector<std::int64_t> row_start;    // per node, and one past the last
    std::vector<std::int32_t> outcome;      // per cell
    std::vector<std::int32_t> parent_cell;  // per cell; -1 at the root
    std::vector<double> counts;             // per cell
    // Found from the others by `index_nodes`: the children of node u are child_start[u] ..
    // child_start[u + 1], and totals[u] is the sum of its counts.
    std::vector<std::int32_t> child_start;
    std::vector<double> totals;

    bool is_dense() const {
        return counts.size() == parent.size() * static_cast<std::size_t>(n_outcomes);
    }
    TreeView view() const {
        return {n_outcomes, parent, level_start, row_start, parent_cell, counts, totals};
    }
};

// Which nodes have no children.
inline std::vector<char> find_leaves(const TreeView& tree) {
    std::vector<char> leaf(tree.parent.size(), 1);
    for (std::size_t node = 1; node < tree.parent.size(); ++node) leaf[tree.parent[node]] = 0;
    return leaf;
}

// Fill child_start and totals of a tree that has all its other arrays. O(nodes + cells).
void index_nodes(CountTree& tree);

// Throw std::invalid_argument unless the arrays form a tree of counts that kernels may walk, and
// fill what index_nodes fills. O(nodes + cells).
void validate(CountTree& tree);

// The same for parent, value and level_start alone.
void validate_nodes(const CountTree& tree);

// The rows of each cell that end at its node: at a leaf all, elsewhere those that are in no child.
std::vector<double> count_ending_rows(const TreeView& tree);

// Rows coded as small integers: one pointer per level of the path, one for the outcome. A code of
// -1 is a missing value.
struct CodedRows {
    std::int64_t n_rows;
    std::vector<const std::int32_t*> path;
    std::vector<std::int32_t> path_arity;
    const std::int32_t* outcome;
    std::int32_t n_outcomes;
    const double* weight;      // null: every row counts once
    bool has_missing = false;  // whether any code is -1
};

// Count rows down their path, O(rows x depth). Rows of weight zero and rows without an outcome are
// ignored; a row ends at the node before the first value of its path that is missing. Memory is
// proportional to the rows and to the contexts that occur, never to the product of the arities.
// Contexts of fewer than `min_rows` rows are left out, where a context is the values of the levels
// from the second on, whatever that of the first (the class): their rows count in the nodes above.
CountTree fill_count_tree(const CodedRows& rows, bool dense, double min_rows = 0.0);

// For each row the deepest node on its path, O(rows x depth x log(children)). A code of -1, and any
// value that no training row had, stops the walk. path[l] points at the codes of level l; the
// children of node u are child_start[u] .. child_start[u + 1].
void find_deepest_nodes(std::span<const std::int32_t> value,
                        std::span<const std::int32_t> child_start,
                        std::span<const std::int32_t* const> path, std::int64_t n_rows,
                        std::int32_t* deepest);

// A table of few possible contexts, with a cell for each of them:
// table[((v_1 * arity_2 + v_2) * ... ) * n_outcomes + outcome] += 1 for each row, v the values on
// its path. Codes must lie in their arities and the table must have a cell for every combination.
// Rows with a missing value (-1) are left out. Weights are not read.
void add_to_table(const CodedRows& rows, std::span<std::int64_t> table);

// Rows at the leaves of a tree whose nodes are known.
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
