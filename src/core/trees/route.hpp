// Rows down a decision tree.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "counts/count_tree.hpp"
#include "trees/splits.hpp"

namespace priorwise {

// A tree of counts and the split of every node that is no leaf.
struct DecisionTree {
    std::shared_ptr<const CountTree> counts;  // a node's value is the branch that leads to it
    std::vector<std::int32_t> feature;        // per node; -1 at a leaf
    std::vector<std::uint8_t> kind;           // per node: SplitKind
    std::vector<double> threshold;            // per node; the code of kEqual
    std::vector<std::int32_t> missing_value;  // per node: branch of missing numbers, unknown codes
    std::vector<double> gain;                 // per node

    // The data of a node that one step needs, in one cache line.
    struct Step {
        double threshold;
        std::int32_t feature;
        std::int32_t first_child, last_child;
        std::int32_t missing_child;  // of a missing number or an unknown code; -1: none
        std::int32_t place;          // of the feature in `needed`
        SplitKind kind;
    };
    // Found from the others by `validate`.
    std::vector<Step> steps;  // per node
    struct Needed {
        std::int32_t feature;
        bool nominal;
    };
    std::vector<Needed> needed;  // columns that rows must have, each once
    bool side_by_side = false;   // whether rows without missing numbers walk side by side

    std::size_t n_nodes() const { return feature.size(); }
};

// Throw std::invalid_argument unless rows may walk the tree, and fill steps and needed. O(nodes).
void validate(DecisionTree& tree);

// The deepest node each row reaches. A row stops where its branch has no node: a code never seen
// there, or a missing number where training had none. Threads work on blocks of rows.
void find_leaves(const DecisionTree& tree, std::span<const Feature> features, std::int64_t n_rows,
                 int n_threads, std::span<std::int32_t> leaf);

// The same for the rows from first to last.
void find_leaves(const DecisionTree& tree, std::span<const Feature> features, std::int64_t first,
                 std::int64_t last, std::int32_t* leaf);

// The child a row goes to from a node, or -1 where it stops.
std::int32_t step_down(const DecisionTree& tree, std::span<const Feature> features,
                       std::int32_t node, std::int64_t row);

// Soft thresholds (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005): at a numeric split with
// bandwidth h > 0 the part Phi((x - threshold) / h) of a row goes above and the rest below. The
// answer is the average of node_rows (nodes x width) over the nodes where the parts end. Without
// bandwidths no row has parts. Threads work on blocks of rows.
void blend_rows(const DecisionTree& tree, std::span<const double> bandwidth,
                std::span<const Feature> features, std::int64_t n_rows,
                std::span<const double> node_rows, int n_threads, std::span<double> out);

}  // namespace priorwise
