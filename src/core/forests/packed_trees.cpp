// Packed trees: made from what files hold, and validated.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/require.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

void check(bool rule, const char* message) {
    require(rule, "not packed trees: ", message);
}

using TreeStart = std::vector<std::int64_t>;

void check_tree_start(const TreeStart& start, std::size_t n_nodes) {
    check(!start.empty() && start.front() == 0 &&
              start.back() == static_cast<std::int64_t>(n_nodes) &&
              std::ranges::is_sorted(start, std::less_equal<>()),
          "tree_start must rise from 0 to the number of nodes");
}

// What holds for a whole tree: `least` is the smallest number `split`, and `next` would be the
// first child of a further node that splits.
void check_tree(std::int64_t n_nodes, std::int32_t least, bool children_follow, std::int64_t next) {
    check(n_nodes < std::numeric_limits<std::int32_t>::max(),
          "a tree must have less than 2**31 nodes");
    check(least >= 0, "features must not be negative");
    check(children_follow, "children must stand side by side, in the order of their parents");
    check(next == n_nodes, "every node must have a parent");
}

// Returns the number of features that rows must have.
std::int32_t validate(const ForestView& view) {
    std::int32_t n_features = 0;
    for (std::int64_t t = 0; t < view.n_trees(); ++t) {
        const auto tree = view.tree(t);
        // Children come in the order of their parents, two for each that splits. Which nodes split
        // cannot be predicted, so there is no branch for each node.
        std::int64_t next = 1;
        std::int32_t least = 0, most = 0;
        bool leaves_stay = true, children_follow = true;
        for (std::int64_t u = 0; u < std::ssize(tree); ++u) {
            const auto& node = tree[u];
            const bool leaf = node.leaf();
            least = std::min(least, node.split);
            most = std::max(most, node.split);
            leaves_stay &= !leaf | (node.first == u);
            children_follow &= leaf | ((node.first == next) & (next > u));
            next += leaf ? 0 : 2;
        }
        check_tree(std::ssize(tree), least, children_follow, next);
        check(leaves_stay, "the first child of a leaf must be the leaf itself");
        n_features = std::max(n_features, (most >> ForestNode::kPlaces) + 1);
    }
    return n_features;
}

// Calls use(split) with the numbers as they lie in memory, or in wider ones.
template <class Use>
auto with_splits(const NarrowNumbers<std::int32_t>& split, const Use& use) {
    if (const auto* bytes = split.as<std::uint8_t>()) return use(bytes);
    if (const auto* pairs = split.as<std::uint16_t>()) return use(pairs);
    std::vector<std::int32_t> widened;
    return use(split.view(widened).data());
}

// The number of nodes among a few that split, of which there are as many as 64 bits hold.
template <class Split>
int count_splits(const Split* split) {
    constexpr auto kOnes =
        ~std::uint64_t{0} / std::numeric_limits<std::make_unsigned_t<Split>>::max();
    constexpr std::uint64_t kPlaceBits = (1 << ForestNode::kPlaces) - 1;
    std::uint64_t several;
    std::memcpy(&several, split, sizeof several);
    // A place bit that is set carries to the bit above the places, and to no other node.
    const auto carried = (several & kOnes * kPlaceBits) + kOnes * kPlaceBits;
    return std::popcount(carried & kOnes * (kPlaceBits + 1));
}

// The same for stored nodes, whose children follow from which of them split.
template <class Split>
std::int32_t validate(const TreeStart& start, const Split* split) {
    constexpr std::int64_t kTogether = sizeof(std::uint64_t) / sizeof(Split);
    std::int32_t n_features = 0;
    for (std::size_t t = 0; t + 1 < start.size(); ++t) {
        const std::span own(split + start[t], static_cast<std::size_t>(start[t + 1] - start[t]));
        const auto n_nodes = std::ssize(own);
        // How far behind a node its children are if it splits: the number of nodes that have
        // parents and were not seen. It falls by at most one per node, so many can be skipped.
        std::int64_t ahead = 1, u = 0;
        bool children_follow = true;
        while (u < n_nodes) {
            if (ahead > kTogether && n_nodes - u >= kTogether) {
                ahead += 2 * count_splits(own.data() + u) - kTogether;
                u += kTogether;
            } else {
                const bool leaf = ForestNode{0.0, 0, own[u++]}.leaf();
                children_follow &= leaf | (ahead > 0);
                ahead += leaf ? -1 : 1;
            }
        }
        auto least = own[0], most = own[0];
        for (const auto one : own) {
            least = std::min(least, one);
            most = std::max(most, one);
        }
        check_tree(n_nodes, least, children_follow, ahead + n_nodes);
        n_features = std::max(n_features, (std::int32_t{most} >> ForestNode::kPlaces) + 1);
    }
    return n_features;
}

// Validated as well: a file that is mapped into memory may have changed since it was read.
std::int32_t validate(const TreeStart& start, const StoredNodes& stored) {
    check_tree_start(start, stored.split.size());
    check(stored.thresholds.size() + stored.leaf_weights.size() == stored.split.size(),
          "every split must have a threshold, and every leaf a weight");
    check(stored.leaf_weights.size() == stored.thresholds.size() + start.size() - 1,
          "every node must have a parent");
    return with_splits(stored.split, [&](const auto* split) { return validate(start, split); });
}

// Fill the nodes of a tree with n / 2 thresholds and one weight more. Which nodes are leaves cannot
// be predicted, so there is no branch for each node: `leaf` has all bits of a leaf, and none of
// another node.
template <class Split>
void link_tree(const Split* split, std::span<ForestNode> nodes, const double* thresholds,
               const double* weights) {
    std::int64_t next = 1, n_inner = 0;
    const auto to_weights = weights - thresholds;
    for (std::int64_t u = 0; u < std::ssize(nodes); ++u) {
        const std::int32_t one = split[u];
        const auto leaf = -static_cast<std::int64_t>(ForestNode{0.0, 0, one}.leaf());
        const auto place = n_inner + (leaf & (to_weights + u - 2 * n_inner));
        nodes[static_cast<std::size_t>(u)] = {
            thresholds[place], static_cast<std::int32_t>(next + (leaf & (u - next))), one};
        next += 2 + 2 * leaf;
        n_inner += 1 + leaf;
    }
}

std::vector<ForestNode> link_trees(const TreeStart& start, const StoredNodes& stored) {
    validate(start, stored);
    const auto n_inner = stored.thresholds.size();
    std::vector<double> values(stored.split.size());
    stored.thresholds.read(values.data());
    stored.leaf_weights.read(values.data() + n_inner);
    std::vector<ForestNode> nodes(stored.split.size());
    with_splits(stored.split, [&](const auto* split) {
        const auto *thresholds = values.data(), *weights = values.data() + n_inner;
        for (std::size_t t = 0; t + 1 < start.size(); ++t) {
            const auto n_nodes = start[t + 1] - start[t];
            link_tree(split + start[t],
                      {nodes.data() + start[t], static_cast<std::size_t>(n_nodes)}, thresholds,
                      weights);
            thresholds += n_nodes / 2;
            weights += n_nodes / 2 + 1;
        }
    });
    return nodes;
}

}  // namespace

PackedTrees::PackedTrees(TreeStart tree_start, std::vector<ForestNode> nodes)
    : tree_start_(std::make_shared<const TreeStart>(std::move(tree_start))),
      nodes_(std::move(nodes)) {
    check_tree_start(*tree_start_, nodes_.get().size());
    n_features_ = validate(view());
}

PackedTrees::PackedTrees(TreeStart tree_start, StoredNodes stored)
    : tree_start_(std::make_shared<const TreeStart>(std::move(tree_start))),
      n_features_(validate(*tree_start_, stored)),
      nodes_([start = tree_start_, stored = std::move(stored)] {
          return link_trees(*start, stored);
      }) {}

}  // namespace priorwise
