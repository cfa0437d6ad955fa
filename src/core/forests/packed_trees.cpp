// Packed trees: their nodes linked and validated.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "common/require.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

void check(bool rule, const char* message) {
    require(rule, "not packed trees: ", message);
}

// Fill the nodes of a tree and return the number of features that rows must have.
std::int32_t link_tree(const NodeNumbers& tree, ForestNode* nodes) {
    const auto& [split, threshold] = tree;
    const auto n_nodes = std::ssize(split);
    check(n_nodes < std::numeric_limits<std::int32_t>::max(),
          "a tree must have less than 2**31 nodes");
    // Children come in the order of their parents, two for each that splits. Which nodes split
    // cannot be predicted, so there is no branch for each node.
    std::int64_t next = 1;
    std::int32_t least = 0, most = 0;
    bool parents_first = true;
    for (std::int64_t u = 0; u < n_nodes; ++u) {
        const bool leaf = ForestNode{0.0, 0, split[u]}.leaf();
        nodes[u] = {threshold[u], static_cast<std::int32_t>(leaf ? u : next), split[u]};
        least = std::min(least, split[u]);
        most = std::max(most, split[u]);
        parents_first &= next > u;
        next += leaf ? 0 : 2;
    }
    check(least >= 0, "features must not be negative");
    check(parents_first && next == n_nodes, "every node must have a parent before it");
    return (most >> ForestNode::kPlaces) + 1;
}

}  // namespace

PackedTrees::PackedTrees(std::vector<std::int64_t> tree_start, std::size_t n_nodes,
                         const ReadNodes& read)
    : tree_start_(std::move(tree_start)) {
    check(!tree_start_.empty() && tree_start_.front() == 0 &&
              tree_start_.back() == static_cast<std::int64_t>(n_nodes) &&
              std::ranges::is_sorted(tree_start_, std::less_equal<>()),
          "tree_start must rise from 0 to the number of nodes");
    nodes_ = std::make_unique_for_overwrite<ForestNode[]>(n_nodes);
    NodeNumbers tree;
    for (std::size_t t = 0; t < n_trees(); ++t) {
        const auto first = static_cast<std::size_t>(tree_start_[t]);
        read(first, static_cast<std::size_t>(tree_start_[t + 1]) - first, tree);
        n_features_ = std::max(n_features_, link_tree(tree, &nodes_[first]));
    }
}

}  // namespace priorwise
