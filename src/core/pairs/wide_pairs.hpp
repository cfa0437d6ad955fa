// Networks of wide tables: the information of a pair is computed when it is needed and not kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pairs/pair_counts.hpp"

namespace priorwise {

// I(X_i; Y) and the values seen, without pairs: `conditional` is empty.
Information measure_features(const CodedTable& table, RowWeights weights, int n_threads);

// For each feature the `max_parents` features earlier in `order` of largest I(X_i; X_j | Y), by
// decreasing value; of equals the earlier one. Row i is that of feature i, -1 where there are
// fewer. With `subtract_bias` the value expected of independent features is subtracted, and only
// parents for which something remains are taken.
std::vector<std::int32_t> find_best_parents(const CodedTable& table, RowWeights weights,
                                            std::span<const std::int64_t> order,
                                            std::int64_t max_parents, bool subtract_bias,
                                            int n_threads);

// The tree of largest total I(X_i; X_j | Y), grown from `root` by its heaviest arc to a new
// feature: of equal arcs that to the lower feature, and of those the one that was found first.
// Features in the order in which they joined the tree, and the parent of each (of the root: -1).
struct SpanningTree {
    std::vector<std::int32_t> order, parent;
};
SpanningTree find_spanning_tree(const CodedTable& table, RowWeights weights, std::int64_t root,
                                int n_threads);

}  // namespace priorwise
