#include "trees/leaf_counts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace priorwise {
namespace {

void check_size(std::size_t n_cells) {
    if (n_cells > std::numeric_limits<std::int32_t>::max())
        throw std::length_error("a count tree holds at most 2**31 - 1 cells");
}

void list_all_outcomes(std::int32_t n_outcomes, CountTree& tree) {
    const auto n_nodes = tree.parent.size();
    const auto n = static_cast<std::size_t>(n_outcomes);
    check_size(n_nodes * n);
    tree.row_start.resize(n_nodes + 1);
    tree.outcome.resize(n_nodes * n);
    tree.parent_cell.resize(n_nodes * n);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        tree.row_start[node] = static_cast<std::int64_t>(node * n);
        for (std::size_t k = 0; k < n; ++k) {
            tree.outcome[node * n + k] = static_cast<std::int32_t>(k);
            tree.parent_cell[node * n + k] =
                node == 0 ? -1
                          : static_cast<std::int32_t>(
                                static_cast<std::size_t>(tree.parent[node]) * n + k);
        }
    }
    tree.row_start[n_nodes] = static_cast<std::int64_t>(n_nodes * n);
}

void list_seen_outcomes(const LeafRows& rows, CountTree& tree) {
    const auto n_nodes = tree.parent.size();
    std::vector<std::vector<std::int32_t>> seen(n_nodes);
    for (std::size_t r = 0; r < rows.leaf.size(); ++r)
        if (rows.leaf[r] >= 0 && (!rows.weight || rows.weight[r] > 0.0))
            seen[rows.leaf[r]].push_back(rows.outcome[r]);
    // Children follow their parent, so going backwards every list is complete when it is passed on.
    for (auto node = n_nodes; node-- > 0;) {
        auto& list = seen[node];
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
        if (node > 0) {
            auto& above = seen[tree.parent[node]];
            above.insert(above.end(), list.begin(), list.end());
        }
    }
    tree.row_start.assign(1, 0);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        for (const auto k : seen[node]) {
            tree.outcome.push_back(k);
            if (node == 0) {
                tree.parent_cell.push_back(-1);
                continue;
            }
            const auto above = tree.parent[node];
            const auto place = std::ranges::lower_bound(seen[above], k) - seen[above].begin();
            tree.parent_cell.push_back(static_cast<std::int32_t>(tree.row_start[above] + place));
        }
        check_size(tree.outcome.size());
        tree.row_start.push_back(static_cast<std::int64_t>(tree.outcome.size()));
    }
}

}  // namespace

void count_leaves(const LeafRows& rows, bool dense, CountTree& tree) {
    if (dense)
        list_all_outcomes(rows.n_outcomes, tree);
    else
        list_seen_outcomes(rows, tree);
    tree.counts.assign(tree.outcome.size(), 0.0);
    for (std::size_t r = 0; r < rows.leaf.size(); ++r) {
        const double w = rows.weight ? rows.weight[r] : 1.0;
        const auto node = rows.leaf[r];
        if (node < 0 || w <= 0.0) continue;
        const auto first = tree.outcome.begin() + tree.row_start[node];
        const auto cell =
            dense ? tree.row_start[node] + rows.outcome[r]
                  : std::lower_bound(first, tree.outcome.begin() + tree.row_start[node + 1],
                                     rows.outcome[r]) -
                        tree.outcome.begin();
        tree.counts[cell] += w;
    }
    for (auto cell = tree.counts.size(); cell-- > 0;)
        if (tree.parent_cell[cell] >= 0) tree.counts[tree.parent_cell[cell]] += tree.counts[cell];
}

}  // namespace priorwise
