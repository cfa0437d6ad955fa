// Packed trees: their nodes linked and validated.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
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

// Call use(node, first child, whether it is a leaf) for the nodes of a tree; the child of a leaf is
// itself. Returns the number of features that rows must have.
template <class Use>
std::int32_t walk_tree(std::span<const std::int32_t> split, Use&& use) {
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
        use(u, static_cast<std::int32_t>(leaf ? u : next), leaf);
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
                         ReadPart<std::int32_t> read_split, ReadPart<double> read_threshold,
                         ReadPart<double> read_leaf_weight)
    : tree_start_(std::move(tree_start)),
      read_split_(std::move(read_split)),
      read_threshold_(std::move(read_threshold)),
      read_leaf_weight_(std::move(read_leaf_weight)) {
    check(!tree_start_.empty() && tree_start_.front() == 0 &&
              tree_start_.back() == static_cast<std::int64_t>(n_nodes) &&
              std::ranges::is_sorted(tree_start_, std::less_equal<>()),
          "tree_start must rise from 0 to the number of nodes");
    std::vector<std::int32_t> split;
    for (std::size_t t = 0; t < n_trees(); ++t) {
        const auto first = static_cast<std::size_t>(tree_start_[t]);
        read_split_(first, static_cast<std::size_t>(tree_start_[t + 1]) - first, split);
        n_features_ = std::max(n_features_, walk_tree(split, [](auto...) {}));
    }
}

void PackedTrees::link() {
    view();
    read_split_ = nullptr;
    read_threshold_ = nullptr;
    read_leaf_weight_ = nullptr;
}

ForestView PackedTrees::view() const {
    std::call_once(linked_->once, [&] {
        auto nodes = std::make_unique_for_overwrite<ForestNode[]>(n_nodes());
        std::vector<std::int32_t> split;
        std::vector<double> threshold, leaf_weight;
        for (std::size_t t = 0; t < n_trees(); ++t) {
            const auto first = static_cast<std::size_t>(tree_start_[t]);
            const auto size = static_cast<std::size_t>(tree_start_[t + 1]) - first;
            read_split_(first, size, split);
            // Of n nodes of a binary tree (n - 1) / 2 split.
            read_threshold_((first - t) / 2, (size - 1) / 2, threshold);
            read_leaf_weight_((first + t) / 2, (size + 1) / 2, leaf_weight);
            const double *next_threshold = threshold.data(), *next_weight = leaf_weight.data();
            auto* tree = nodes.get() + first;
            // A file that is mapped into memory may have changed: the splits are checked again.
            check(walk_tree(split, [](auto...) {}) <= n_features_, "features must not change");
            walk_tree(split, [&](std::int64_t u, std::int32_t child, bool leaf) {
                auto& next = leaf ? next_weight : next_threshold;
                tree[u] = {*next++, child, split[u]};
            });
        }
        linked_->nodes = std::move(nodes);
    });
    return {tree_start_, {linked_->nodes.get(), n_nodes()}};
}

}  // namespace priorwise
