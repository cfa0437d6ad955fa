// Growth of decision trees: arguments and results of the kernels.
//
// A tree grows level by level without recursion, so its depth has no limit, and its nodes are
// numbered as in a CountTree: level by level, the children of a node contiguous and sorted by
// branch. Rows of zero growth weight are not used to choose splits, but follow the splits, add the
// branches they need, and may be counted.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace priorwise {

// Branches of a numeric split; those of a nominal split are the codes.
enum Branch : std::int32_t { kBelow = 0, kAbove = 1, kMissing = 2 };
// One code against the rest: the branches of SplitKind::kEqual.
enum EqualBranch : std::int32_t { kOther = 0, kSame = 1 };

enum class SplitKind : std::uint8_t { kLeaf = 0, kNumeric = 1, kNominal = 2, kEqual = 3 };

// One feature, numbers (NaN is missing) or codes (missing, if any, is a code).
struct Feature {
    const double* number = nullptr;      // null: the feature is nominal
    const std::int32_t* code = nullptr;  // null: the feature is numeric
    std::int64_t stride = 1;

    bool nominal() const { return code != nullptr; }
    double number_at(std::int64_t row) const { return number[row * stride]; }
    std::int32_t code_at(std::int64_t row) const { return code[row * stride]; }
    double value_at(std::int64_t row) const { return code ? code_at(row) : number_at(row); }
};

constexpr std::int32_t kMissingRank = std::numeric_limits<std::int32_t>::max();

// The rows sorted by each feature once, and the rank of each row's value in that order: the code
// of a nominal value, the number of smaller distinct values of a number, kMissingRank for NaN.
struct SortedFeatures {
    std::span<const std::int32_t> row;   // features x rows
    std::span<const std::int32_t> rank;  // features x rows
};

struct GrowthRows {
    std::int64_t n_rows = 0;
    std::span<const Feature> features;
    std::span<const std::int32_t> outcome;
    std::int32_t n_outcomes = 0;
    const double* grow_weight = nullptr;   // null: every row weighs one
    const double* count_weight = nullptr;  // null: the same as grow_weight
    // Rows of one group grow a tree of a forest all or none; null: each row is a group.
    std::span<const std::int32_t> group = {};

    double growth(std::int64_t row) const { return grow_weight ? grow_weight[row] : 1.0; }
    // Rows without any weight are ignored.
    bool kept(std::int64_t row) const {
        return growth(row) > 0.0 || (count_weight && count_weight[row] > 0.0);
    }
};

// kRelease8 is the gain ratio by the rules of the code of C4.5 Release 8, as in Weka's J48.
enum class Criterion { kGainRatio, kGain, kRelease8 };

// More random splits of a feature cost more than all its splits.
constexpr std::int32_t kMaxRandomSplits = 1000;

struct GrowthRules {
    Criterion criterion = Criterion::kGainRatio;
    double min_samples_leaf = 2.0;   // weight that two branches of a split must have at least
    double numeric_min_share = 0.0;  // C4.5: sides of a cut hold min(25, share * N / K) at least
    bool binary_codes = false;       // one code against the rest, not a branch for every code
    bool mdl_correction = false;     // C4.5 Release 8: a cut pays log2(distinct - 1) / N
    std::int32_t max_depth = std::numeric_limits<std::int32_t>::max();
    std::int32_t max_features = 0;     // examined at a node, drawn at random; 0: all
    std::int32_t n_random_splits = 0;  // drawn per feature, by random growth
    std::uint64_t seed = 0;
    // kRelease8: least number of values of each nominal feature, as declared; empty: those seen
    std::span<const std::int32_t> n_values{};
    // per feature: 1 if the share of outcome 1 must not fall with its numbers, -1 if it must not
    // rise, 0 if it may do both; empty: all may
    std::span<const std::int32_t> monotone{};

    // Whether rows below and above a cut of a feature may have these weights, of outcome 1 and of
    // all outcomes.
    bool allows(std::int32_t feature, double ones_below, double n_below, double ones_above,
                double n_above) const {
        if (monotone.empty() || monotone[feature] == 0) return true;
        return monotone[feature] * (ones_above * n_below - ones_below * n_above) >= 0.0;
    }
};

struct GrownTree {
    std::vector<std::int32_t> parent;         // per node, as in CountTree
    std::vector<std::int32_t> value;          // per node: the branch that leads to it
    std::vector<std::int64_t> level_start;    // per level, and one past the last
    std::vector<std::int32_t> feature;        // per node; -1 at a leaf
    std::vector<std::uint8_t> kind;           // per node: SplitKind
    std::vector<double> threshold;            // numeric: goes below if <=; kEqual: the code
    std::vector<std::int32_t> missing_value;  // branch of a missing number or an unknown code
    std::vector<double> gain;                 // nats the split gains, summed over its rows
    std::vector<std::int32_t> leaf_of_row;    // per row; -1 without weight

    std::int32_t add_node(std::int32_t parent_node, std::int32_t branch) {
        parent.push_back(parent_node);
        value.push_back(branch);
        feature.push_back(-1);
        kind.push_back(static_cast<std::uint8_t>(SplitKind::kLeaf));
        threshold.push_back(std::numeric_limits<double>::quiet_NaN());
        missing_value.push_back(-1);
        gain.push_back(0.0);
        return static_cast<std::int32_t>(parent.size()) - 1;
    }
};

// Sort the rows by every feature; threads work on features. O(features x rows log rows).
void sort_features(std::span<const Feature> features, std::int64_t n_rows, int n_threads,
                   std::span<std::int32_t> row, std::span<std::int32_t> rank);

// C4.5: at every node the best split of all features, or of max_features drawn at random.
// O(rows x features x depth); threads work on features; the result does not depend on their number.
GrownTree grow_best_tree(const GrowthRows& rows, const SortedFeatures& sorted,
                         const GrowthRules& rules, int n_threads);

}  // namespace priorwise
