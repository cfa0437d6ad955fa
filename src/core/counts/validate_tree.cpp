#include <algorithm>
#include <cmath>
#include <limits>

#include "common/require.hpp"
#include "counts/count_tree.hpp"

namespace priorwise {
namespace {

void check(bool rule, const char* message) {
    require(rule, "not a tree of counts: ", message);
}

}  // namespace

void validate_nodes(const CountTree& tree) {
    const auto n_nodes = static_cast<std::int64_t>(tree.parent.size());
    check(n_nodes > 0 && tree.value.size() == tree.parent.size(),
          "parent and value must have one entry per node");
    check(n_nodes < std::numeric_limits<std::int32_t>::max(), "it must have less than 2**31 nodes");
    check(tree.parent[0] == -1 && tree.value[0] == -1, "node 0 must be the root");
    const auto& start = tree.level_start;
    check(start.size() >= 2 && start[0] == 0 && start[1] == 1 && start.back() == n_nodes &&
              std::ranges::is_sorted(start),
          "level_start must rise from 0 and 1 to the number of nodes");
    for (std::size_t level = 1; level + 1 < start.size(); ++level) {
        for (auto node = start[level]; node < start[level + 1]; ++node) {
            const auto parent = tree.parent[node];
            check(parent >= 0, "only node 0 may be a root");
            check(parent < node, "a parent must precede its children");
            check(parent >= start[level - 1] && parent < start[level],
                  "a child must be one level down");
            check(parent >= tree.parent[node - 1], "siblings must be contiguous");
            check(tree.value[node] >= 0, "values must not be negative");
            check(parent > tree.parent[node - 1] || tree.value[node] > tree.value[node - 1],
                  "siblings must be sorted by value");
        }
    }
}

namespace {

void validate_cells(const CountTree& tree) {
    const auto n_cells = static_cast<std::int64_t>(tree.counts.size());
    check(tree.n_outcomes >= 1, "n_outcomes must be at least 1");
    check(tree.row_start.size() == tree.parent.size() + 1, "every node must own a row of cells");
    check(n_cells <= std::numeric_limits<std::int32_t>::max() &&
              tree.outcome.size() == tree.counts.size() &&
              tree.parent_cell.size() == tree.counts.size(),
          "outcome, parent_cell and counts must have one entry per cell, less than 2**31");
    check(tree.row_start.front() == 0 && tree.row_start.back() == n_cells &&
              std::ranges::is_sorted(tree.row_start),
          "rows of cells must not overlap");
    for (std::size_t node = 0; node < tree.parent.size(); ++node) {
        const auto first = tree.row_start[node];
        for (auto cell = first; cell < tree.row_start[node + 1]; ++cell) {
            const auto k = tree.outcome[cell];
            const auto above = tree.parent_cell[cell];
            check(k >= 0 && k < tree.n_outcomes, "outcomes must exist");
            check(cell == first || k > tree.outcome[cell - 1], "cells must be sorted by outcome");
            check(std::isfinite(tree.counts[cell]), "counts must be finite");
            check(tree.counts[cell] >= 0.0, "counts must not be negative");
            if (node == 0) {
                check(above == -1, "cells of the root have no parent");
                continue;
            }
            const auto parent = tree.parent[node];
            check(above >= tree.row_start[parent] && above < tree.row_start[parent + 1],
                  "parent cells must be the parent's");
            check(tree.outcome[above] == k, "parent cells must count one outcome");
        }
    }
}

}  // namespace

void index_nodes(CountTree& tree) {
    const auto n_nodes = tree.parent.size();
    tree.child_start.resize(n_nodes + 1);
    std::size_t child = 1;
    for (std::size_t node = 0; node <= n_nodes; ++node) {
        while (child < n_nodes && tree.parent[child] < static_cast<std::int64_t>(node)) ++child;
        tree.child_start[node] = static_cast<std::int32_t>(child);
    }
    tree.totals.resize(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        double total = 0.0;
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell)
            total += tree.counts[cell];
        tree.totals[node] = total;
    }
}

void validate(CountTree& tree) {
    validate_nodes(tree);
    validate_cells(tree);
    index_nodes(tree);
    // Counts are sums of weights, which are at most 2**53 before they are rounded.
    constexpr double kMaxTotal = 0x1p53 * (1.0 + 1e-9);
    for (const auto total : tree.totals)
        check(total <= kMaxTotal, "counts of a node must have a sum of at most 2**53");
}

}  // namespace priorwise
