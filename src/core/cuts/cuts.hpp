// Cut points of numeric features.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/fixed_log.hpp"

namespace priorwise {

// The distinct values of one feature in ascending order, and each row's place among them
// (-1 where the value is NaN). Returns the distinct values.
std::vector<double> rank_values(const double* values, std::int64_t n_rows, std::int32_t* ranks);

// The bin of each value: the number of cut points below it, so bins are closed on the right.
// NaN gets `missing_code`.
void cut_values(const double* values, std::int64_t n_rows, const double* cut_points,
                std::int64_t n_cuts, std::int32_t missing_code, std::int32_t* codes);

// A feature to cut, and the row of a table of codes that its bins are written to.
struct CutFeature {
    std::span<const double> cut_points;
    std::int32_t missing_code;
    std::int64_t position;
};
// Cut every feature of a table (features x rows), on threads.
void cut_table(std::span<const CutFeature> features, const double* values, std::int64_t n_rows,
               std::int32_t* codes, int n_threads);

// The distinct values of several features, one feature behind the other: that at place f begins at
// starts[f], and below[i] is the weight of the feature's rows up to its value i.
struct RankedValues {
    std::span<const double> below;
    std::span<const std::int64_t> starts;
};

// A quantile of the rows of a feature, or of its distinct values.
struct CutQuantile {
    std::int64_t feature;
    double quantile;
    bool of_rows;
};

// The value behind which the boundary between two values lies that is nearest to a quantile, the
// lower one of equals. The feature has at least two values. O(log values).
std::int64_t nearest_boundary(const RankedValues& ranked, const CutQuantile& cut);

enum class CutRule {
    mdl,          // best cut, top down, while Eq. 37 accepts it
    random_mdl,   // a cut drawn by its gain above the threshold (Algorithm 11)
    tree,         // best cuts to a given depth
    pruned_tree,  // the same, then subtrees without an accepted cut are removed
};

// One feature's rows by rank, with their classes; weights may be null.
struct RankedFeature {
    const std::int32_t* ranks;
    const std::int32_t* classes;
    const double* weights;
    std::int64_t n_rows;
    std::int32_t n_distinct;
    std::int32_t n_classes;
};

// Cuts as ranks in ascending order: a cut r lies between distinct values r and r + 1.
// `max_depth` counts only for the trees, `seed` only for random_mdl. `log` must have been made
// for at least the total weight of the rows.
std::vector<std::int32_t> entropy_cuts(const RankedFeature& feature, CutRule rule, int max_depth,
                                       std::uint64_t seed, const FixedLog& log);

}  // namespace priorwise
