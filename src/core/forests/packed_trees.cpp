// Packed trees: made from what files hold, and validated.
#include <algorithm>
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

void check_tree_start(const std::vector<std::int64_t>& start, std::size_t n_nodes) {
    check(!start.empty() && start.front() == 0 &&
              start.back() == static_cast<std::int64_t>(n_nodes) &&
              std::ranges::is_sorted(start, std::less_equal<>()),
          "tree_start must rise from 0 to the number of nodes");
}

// What holds for a whole tree: `all_splits` has the bits of all nodes, and `next` would be the
// first child of a further node that splits.
void check_tree(std::int64_t n_nodes, std::int32_t all_splits, bool children_follow,
                std::int64_t next) {
    check(n_nodes < std::numeric_limits<std::int32_t>::max(),
          "a tree must have less than 2**31 nodes");
    check(all_splits >= 0, "features must not be negative");
    check(children_follow, "children must stand side by side, in the order of their parents");
    check(next == n_nodes, "every node must have a parent");
}

}  // namespace

void validate(PackedTrees& trees) {
    check_tree_start(trees.tree_start, trees.nodes.size());
    const auto view = trees.view();
    for (std::int64_t t = 0; t < view.n_trees(); ++t) {
        const auto tree = view.tree(t);
        // Children come in the order of their parents, two for each that splits. Which nodes split
        // cannot be predicted, so there is no branch for each node.
        std::int64_t next = 1;
        std::int32_t all_splits = 0, most = 0;
        bool leaves_stay = true, children_follow = true;
        for (std::int64_t u = 0; u < std::ssize(tree); ++u) {
            const auto& node = tree[u];
            const bool leaf = node.leaf();
            all_splits |= node.split;
            most = std::max(most, node.split);
            leaves_stay &= !leaf | (node.first == u);
            children_follow &= leaf | ((node.first == next) & (next > u));
            next += leaf ? 0 : 2;
        }
        check_tree(std::ssize(tree), all_splits, children_follow, next);
        check(leaves_stay, "the first child of a leaf must be the leaf itself");
        trees.n_features = std::max(trees.n_features, (most >> ForestNode::kPlaces) + 1);
    }
}

namespace {

// Fill the nodes of a tree with n / 2 thresholds and one weight more; returns whether children
// follow their parents. Which nodes are leaves cannot be predicted, so there is no branch for each
// node: `leaf` has all bits of a leaf, and none of another node.
template <class Split>
bool link_tree(const Split* split, std::span<ForestNode> nodes, const double* thresholds,
               const double* weights) {
    std::int64_t next = 1, n_inner = 0;
    int others = 0;
    const auto to_weights = weights - thresholds;
    for (std::int64_t u = 0; u < std::ssize(nodes); ++u) {
        const std::int32_t one = split[u];
        const auto leaf = -static_cast<std::int64_t>(ForestNode{0.0, 0, one}.leaf());
        const auto place = n_inner + (leaf & (to_weights + u - 2 * n_inner));
        nodes[static_cast<std::size_t>(u)] = {
            thresholds[place], static_cast<std::int32_t>(next + (leaf & (u - next))), one};
        others |= static_cast<int>(next <= u) & static_cast<int>(leaf + 1);
        next += 2 + 2 * leaf;
        n_inner += 1 + leaf;
    }
    return others == 0;
}

template <class Split>
void link_all(PackedTrees& trees, const Split* split, std::span<const double> values) {
    const auto& start = trees.tree_start;
    const auto n_trees = std::ssize(start) - 1, n_splits = (start.back() - n_trees) / 2;
    const auto *thresholds = values.data(), *weights = values.data() + n_splits;
    for (std::size_t t = 0; t + 1 < start.size(); ++t) {
        const auto* own = split + start[t];
        const auto n_nodes = start[t + 1] - start[t];
        std::int64_t n_leaves = 0;
        std::int32_t all_splits = 0, most = 0;
        for (std::int64_t u = 0; u < n_nodes; ++u) {
            n_leaves += static_cast<std::int64_t>(ForestNode{0.0, 0, own[u]}.leaf());
            all_splits |= own[u];
            most = std::max<std::int32_t>(most, own[u]);
        }
        // Two children for every node that splits.
        check_tree(n_nodes, all_splits, true, 1 + 2 * (n_nodes - n_leaves));
        const std::span<ForestNode> nodes(trees.nodes.data() + start[t],
                                          static_cast<std::size_t>(n_nodes));
        check_tree(n_nodes, 0, link_tree(own, nodes, thresholds, weights), n_nodes);
        thresholds += n_nodes - n_leaves;
        weights += n_leaves;
        trees.n_features = std::max(trees.n_features, (most >> ForestNode::kPlaces) + 1);
    }
}

}  // namespace

PackedTrees link_trees(std::vector<std::int64_t> tree_start,
                       const NarrowNumbers<std::int32_t>& split,
                       const NarrowNumbers<double>& thresholds,
                       const NarrowNumbers<double>& leaf_weights) {
    PackedTrees trees{std::move(tree_start), {}, 0};
    check_tree_start(trees.tree_start, split.size());
    const auto n_trees = trees.tree_start.size() - 1;
    check(thresholds.size() + leaf_weights.size() == split.size(),
          "every split must have a threshold, and every leaf a weight");
    check(leaf_weights.size() == thresholds.size() + n_trees, "every node must have a parent");
    std::vector<double> values(split.size());
    thresholds.read(values.data());
    leaf_weights.read(values.data() + thresholds.size());
    trees.nodes.resize(split.size());
    std::vector<std::int32_t> widened;
    if (const auto* bytes = split.as<std::uint8_t>())
        link_all(trees, bytes, values);
    else if (const auto* pairs = split.as<std::uint16_t>())
        link_all(trees, pairs, values);
    else
        link_all(trees, split.view(widened).data(), values);
    return trees;
}

}  // namespace priorwise
