// Leave-one-out losses by table look-up, where contexts are few.
//
// With r_c the probability of class c over that of the row's own class y, p_y = 1 / (1 + sum r_c).
// Each factor multiplies r_c by a ratio that depends on y, the parents' values and x alone, since a
// row that is left out takes exactly one row from its path. The ratios are put in a table once, and
// a row costs one look-up per factor, depth and class.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "networks/select_prefix.hpp"

namespace priorwise {

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
