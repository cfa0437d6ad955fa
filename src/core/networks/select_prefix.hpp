// Leave-one-out choice of a sub-model of a k-dependence network (selective kDB).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "counts/factor.hpp"

namespace priorwise {

enum class SelectionLoss { kSquared, kLog };

// Losses of rows are rounded to multiples of 2^-32 before they are summed: sums of whole numbers do
// not depend on the order of the rows, nor on how they are split over batches and threads.
constexpr double kLossUnit = 4294967296.0;
// Probabilities below 1e-300 count as 1e-300: this is their -log.
constexpr double kMaxLogLoss = 690.7755278982137;

// A sum of losses in two parts, each a sum over rows: `high` counts multiples of 2^-16, `low` what
// is left of each row, in units of 2^-32. Both hold more than 10^11 rows.
struct LossSum {
    std::int64_t high = 0;
    std::int64_t low = 0;

    void add(double loss) {
        // What is no number counts as the largest loss.
        const auto units =
            static_cast<std::int64_t>(std::nearbyint(std::min(kMaxLogLoss, loss) * kLossUnit));
        high += units >> 16;
        low += units & 0xFFFF;
    }

    void add(const LossSum& other) {
        high += other.high;
        low += other.low;
    }
};

// How a node is estimated from counts without a row: p = (n + w base) / (N + w) down its path, with
// base the parent's estimate or uniform (see shrink).
struct Shrinkage {
    std::span<const double> counts;             // per cell
    std::span<const std::int32_t> parent_cell;  // per cell
    std::span<const double> total;              // per node
    std::span<const double> weight;             // per node
    std::span<const double> p;                  // per cell: the estimate with all rows
    std::span<const double> left_out;           // per cell: see left_out_estimates
    std::span<const double> root_share;         // per node: see root_shares
    bool towards_parent;
};

// How much of the root's estimate is in a node's: the product of w / (N + w) down its path, zero
// where the base is uniform. The root stands above the classes, so a row taken out of it changes
// the estimates of every class by this share of the change there.
std::vector<double> root_shares(std::span<const std::int32_t> parent, std::span<const double> total,
                                std::span<const double> weight, bool towards_parent);

// The estimate of each cell's outcome with one row of it taken out of the whole path.
std::vector<double> left_out_estimates(const TreeView& tree, std::span<const double> total,
                                       std::span<const double> weight, bool towards_parent);

struct PrefixSelection {
    std::span<const Factor> factors;       // in the order of the network
    std::span<const Shrinkage> shrinkage;  // of the factors
    std::span<const double> class_count;   // pseudo-counts included
    const std::int32_t* y;
    const double* row_weight;  // null: 1
    std::int32_t max_parents;
    SelectionLoss loss;
};

// losses[k' * (features + 1) + f] = summed leave-one-out loss of the first f features with at most
// k' parents each, k' = 0..max_parents, over the rows first .. last: (1 - p_y)^2 or -log p_y. The
// row is taken out of the class counts and of every node that it is in; weights stay as they are. A
// row that is impossible in every class has the loss of the class prior, as in prediction.
// Sum: double for weighted rows, LossSum for others.
template <class Sum>
void add_leave_one_out_losses(const PrefixSelection& selection, std::int64_t first,
                              std::int64_t last, std::span<Sum> losses);

}  // namespace priorwise
