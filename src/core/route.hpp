// Rows down a decision tree.
#pragma once

#include <span>

#include "splits.hpp"

namespace priorwise {

struct TreeSplits {
    std::span<const std::int32_t> value;        // per node: the branch that leads to it
    std::span<const std::int32_t> child_start;  // per node, and one past the last
    std::span<const std::int32_t> feature;
    std::span<const std::uint8_t> kind;
    std::span<const double> threshold;
    std::span<const std::int32_t> missing_value;
};

// The deepest node each row reaches. A row stops where its branch has no node: a code never seen
// there, or a missing number where training had none. Threads work on blocks of rows.
void find_leaves(const TreeSplits& tree, std::span<const Feature> features, std::int64_t n_rows,
                 int n_threads, std::span<std::int32_t> leaf);

}  // namespace priorwise
