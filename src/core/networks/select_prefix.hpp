// Leave-one-out choice of a sub-model of a k-dependence network (selective kDB).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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

// Leave-one-out losses by table look-up, where contexts are few.
//
// With r_c the probability of class c over that of the row's own class y, p_y = 1 / (1 + sum r_c).
// Each factor multiplies r_c by a ratio that depends on y, the parents' values and x alone, since a
// row that is left out takes exactly one row from its path. The ratios are put in a table once, and
// a row costs one look-up per factor, depth and class.
class RatioTables {
  public:
    // Returns nothing if a factor has too many possible contexts or a probability is zero.
    static std::optional<RatioTables> build(const PrefixSelection& selection);

    // The rows are those of a selection of the same factors over any columns.

    // Whether every code of the rows has a place in the tables, as codes of counted rows do.
    bool cover(const PrefixSelection& selection, std::int64_t n_rows) const;

    // Adds to losses[k' * (features + 1) + f] the losses of the rows first .. last.
    void add_losses(const PrefixSelection& selection, std::int64_t first, std::int64_t last,
                    std::span<LossSum> losses) const;

  private:
    // What is known of the rows of a block.
    struct Block {
        std::vector<double> ratio;           // by depth, other class and row
        std::vector<std::int32_t> cell;      // by row: its place in the tables of a factor
        std::vector<std::int32_t> no_digit;  // by row: zero
    };

    RatioTables() = default;
    bool add_factor(const Factor& factor, const Shrinkage& shrinkage);
    void add_block(const PrefixSelection& selection, std::int64_t first, std::int64_t last,
                   std::span<LossSum> losses, Block& block) const;
    LossSum sum_losses(const PrefixSelection& selection, const double* ratio, std::int64_t stride,
                       std::int64_t n_rows) const;

    // Per factor and depth: ratios by other class, own class, x and the parents' values, the last
    // parent's last: a cell's place is that of the depth above with one digit more. The ratios of a
    // rare class do not take up the cache.
    std::vector<std::vector<std::vector<double>>> tables_;
    std::vector<std::vector<std::int32_t>> arities_;  // per factor: of its parents
    std::vector<double> prior_;                       // by own class and other class
};

}  // namespace priorwise
