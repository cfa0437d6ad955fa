// Forests of binary trees in flat arrays: growth, counts, smoothing, rows down all trees.
//
// The nodes of a tree are numbered level by level, the two children of a node side by side, and
// the trees follow each other. Every kernel takes the trees of a row in their order, so sums have
// the same bits for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "counts/count_tree.hpp"
#include "trees/splits.hpp"

namespace priorwise {

// A split in 16 bytes. The comparison of a value with the threshold has one of four results,
// place 0..3 as `compare` numbers them; bit `place` of the low four bits of `split` says whether
// that result goes to the second child, and the bits above are the feature. A leaf has no bit
// set and itself as first child, so a step down from it stays.
struct ForestNode {
    double threshold;    // or the code; of a leaf of a pruned forest the weight of its rows
    std::int32_t first;  // first child, in the numbers of the tree
    std::int32_t split;

    static constexpr int kLess = 0, kEqualTo = 1, kUnordered = 2, kGreater = 3;
    static constexpr int kPlaces = 4;

    static int compare(double x, double threshold) {
        return 2 * static_cast<int>(!(x <= threshold)) + static_cast<int>(x >= threshold);
    }
    bool leaf() const { return (split & ((1 << kPlaces) - 1)) == 0; }
    std::int32_t feature() const { return split >> kPlaces; }
    std::int32_t next(double x) const { return first + (split >> compare(x, threshold) & 1); }
};
static_assert(sizeof(ForestNode) == 16);

constexpr std::int32_t kMaxForestFeatures = 1 << (31 - ForestNode::kPlaces);

// What kernels read of trees.
struct ForestView {
    std::span<const std::int64_t> tree_start;  // per tree, and one past the last
    std::span<const ForestNode> nodes;

    std::int64_t n_trees() const { return static_cast<std::int64_t>(tree_start.size()) - 1; }
    std::span<const ForestNode> tree(std::int64_t t) const {
        return nodes.subspan(static_cast<std::size_t>(tree_start[t]),
                             static_cast<std::size_t>(tree_start[t + 1] - tree_start[t]));
    }
};

// Trees one after the other. Their nodes are linked when they are first needed, or by `link`.
class PackedTrees {
  public:
    // Assigns a part of the numbers of all nodes, given its first and its length.
    template <class T>
    using ReadPart = std::function<void(std::size_t, std::size_t, std::vector<T>&)>;
    // Children follow from which nodes split; those have a threshold each, the others a weight.
    // Throws std::invalid_argument unless rows may walk the trees. O(nodes).
    PackedTrees(std::vector<std::int64_t> tree_start, std::size_t n_nodes,
                ReadPart<std::int32_t> read_split, ReadPart<double> read_threshold,
                ReadPart<double> read_leaf_weight);

    const std::vector<std::int64_t>& tree_start() const { return tree_start_; }
    std::size_t n_trees() const { return tree_start_.size() - 1; }
    std::size_t n_nodes() const { return static_cast<std::size_t>(tree_start_.back()); }
    // That rows must have.
    std::int32_t n_features() const { return n_features_; }
    ForestView view() const;
    // Link the nodes, and release the numbers that they are made of.
    void link();

  private:
    struct Linked {
        std::once_flag once;
        std::unique_ptr<ForestNode[]> nodes;
    };

    std::vector<std::int64_t> tree_start_;
    ReadPart<std::int32_t> read_split_;
    ReadPart<double> read_threshold_, read_leaf_weight_;
    std::unique_ptr<Linked> linked_ = std::make_unique<Linked>();
    std::int32_t n_features_ = 0;
};

// The splits of a decision tree; a node's value in `counts` is the branch that leads to it. A row
// stops where its branch has no node.
struct TreeSplits {
    const CountTree& counts;
    std::span<const std::int32_t> feature;        // per node; -1 at a leaf
    std::span<const std::uint8_t> kind;           // per node: SplitKind
    std::span<const double> threshold;            // per node; the code of kEqual
    std::span<const std::int32_t> missing_value;  // per node: branch of missing numbers, or of
                                                  // unknown codes at kEqual
};

struct PackedTree {
    std::vector<ForestNode> nodes;    // the threshold of a leaf is the weight of its rows
    std::vector<std::int32_t> owner;  // per node: the node of the decision tree that it belongs to
};

// A decision tree as a packed one. The first packed node of a node of the decision tree has its
// feature and, but for kNominal, its threshold or code. Behind it may come, with the same owner:
// - leaves for rows that stop at a node that splits;
// - one that asks whether the number is missing (> infinity or missing), or the code is unknown
//   (> -0.5), if rows with such values come there and go to neither side;
// - of kNominal, a binary search for the code among those that have a branch.
// Throws std::invalid_argument unless rows can walk the tree. O(nodes x depth) at most.
PackedTree pack_tree(const TreeSplits& splits);

// Soft thresholds (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005): at a node of a packed tree
// with bandwidth h > 0 the part Phi((x - threshold) / h) of a row goes to the second child and the
// rest to the first. The answer (rows x width) is the average of owner_rows (nodes of the decision
// tree x width) over the leaves where the parts end. Threads work on blocks of rows.
void blend_rows(std::span<const ForestNode> tree, std::span<const std::int32_t> owner,
                std::span<const double> bandwidth, std::span<const Feature> features,
                std::int64_t n_rows, std::span<const double> owner_rows, std::size_t width,
                int n_threads, std::span<double> out);

struct GrownForest {
    std::vector<std::int64_t> tree_start;
    std::vector<ForestNode> nodes;
    std::vector<double> gain;        // per node, see GrownTree
    std::vector<std::int32_t> leaf;  // trees x rows; -1 for rows without weight
    std::vector<std::uint8_t> out;   // trees x rows: 1 if the row counts but did not grow the tree
};

// Random trees (RandomGrowth), one per seed. A tree grows on each row, or group of rows, with the
// probability of the share, on all rows if none was drawn. Rows that do not grow it follow the
// splits. Threads work on trees.
GrownForest grow_random_forest(const GrowthRows& rows, const GrowthRules& rules, double share,
                               std::span<const std::uint64_t> seeds, int n_threads);

// Training rows, their leaf in every tree, and their weight there: that of all rows with
// count_all, else of the rows that grew the tree. Counts of a tree are summed when they are needed,
// because those of all trees would take more memory than anything else.
struct ForestRows {
    std::span<const std::int32_t> leaf;  // trees x rows
    std::span<const std::uint8_t> out;   // trees x rows
    std::span<const std::int32_t> outcome;
    std::int32_t n_outcomes;
    const double* weight;  // per row; null: every row weighs one
    bool count_all;

    std::int64_t n_rows() const { return static_cast<std::int64_t>(outcome.size()); }
};

// The weight of every outcome at every node (nodes x outcomes).
void count_forest(const ForestView& forest, const ForestRows& rows, int n_threads,
                  std::span<double> counts);

// p = (n + c p_parent) / (N + c) at every node, uniform above the root, where c is 1.
void smooth_forest(const ForestView& forest, const ForestRows& rows, double strength, int n_threads,
                   std::span<float> proba);

// A forest without the splits of nodes that weigh less than `least`.
struct PrunedForest {
    std::vector<std::int64_t> tree_start;
    std::vector<ForestNode> nodes;     // the threshold of a leaf is its weight
    std::vector<std::int32_t> number;  // per node given: what it, or its ancestor, is there
};
PrunedForest prune_forest(const ForestView& forest, std::span<const double> weight, double least);

// Estimates of rows by the trees they did not grow, with the counts of the row itself, `own` at
// every node on its path, subtracted.
struct OutOfBag {
    const ForestView& forest;
    const ForestRows& rows;
    std::span<const double> own;         // per row
    std::span<const std::int64_t> some;  // the rows asked for
};

constexpr std::size_t kMaxStrengths = 16, kMaxLeasts = 16;

// The probability of each row's outcome, summed over the trees, and the number of trees summed, in
// forests without the splits of nodes that weigh less than `leasts`, which rise, for every strength
// (rows x leasts x strengths). O(rows x trees x depth x leasts x strengths); threads work on rows.
void sum_outcome_proba(const OutOfBag& data, std::span<const double> strengths,
                       std::span<const double> leasts, int n_threads, std::span<double> total,
                       std::span<double> weight);

// The same for all outcomes, one strength and the whole forest (rows x outcomes).
void sum_out_of_bag(const OutOfBag& data, double strength, int n_threads, std::span<double> total,
                    std::span<double> weight);

// Rows of `proba` (nodes x width) at the leaves of rows that did not grow a tree, summed over the
// trees, and the number of such trees; out is rows x width. Threads work on rows.
void sum_leaf_rows(const ForestView& forest, const ForestRows& rows, std::span<const float> proba,
                   int n_threads, std::span<double> total, std::span<double> weight);

// The leaf of every row in every tree (trees x rows).
void find_forest_leaves(const ForestView& forest, std::span<const Feature> features,
                        std::int64_t n_rows, int n_threads, std::span<std::int32_t> leaf);

struct SparseRows;

// A row of numbers for every node (nodes x width); dense is empty if they are sparse.
struct NodeRows {
    std::span<const float> dense;
    const SparseRows* sparse;
    std::int64_t width;
};

// The mean over the trees of the leaf's row; out is rows x width.
void average_forest(const ForestView& forest, std::span<const Feature> features,
                    std::int64_t n_rows, const NodeRows& node_rows, int n_threads,
                    std::span<double> out);

// The mean over the trees of the steps from a node's row to its child's on a row's path, summed by
// the feature of the split; out is rows x features x width.
void contribute_forest(const ForestView& forest, std::span<const Feature> features,
                       std::int64_t n_rows, const NodeRows& node_rows, int n_threads,
                       std::span<double> out);

}  // namespace priorwise
