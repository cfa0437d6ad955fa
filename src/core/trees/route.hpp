// Rows down a decision tree.
#pragma once

#include <span>

#include "trees/splits.hpp"

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

// The child a row goes to from a node, or -1 where it stops.
std::int32_t step_down(const TreeSplits& tree, std::span<const Feature> features, std::int32_t node,
                       std::int64_t row);

// Soft thresholds (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005): at a numeric split with
// bandwidth h > 0 the part Phi((x - threshold) / h) of a row goes above and the rest below. The
// answer is the average of node_rows (nodes x width) over the nodes where the parts end. Threads
// work on blocks of rows.
void blend_rows(const TreeSplits& tree, std::span<const double> bandwidth,
                std::span<const Feature> features, std::int64_t n_rows,
                std::span<const double> node_rows, int n_threads, std::span<double> out);

}  // namespace priorwise
