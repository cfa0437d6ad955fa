// A packed factor laid out for many rows: each step down its contexts, and each search for an
// outcome, looks at one place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scores/score_tree.hpp"

namespace priorwise {

class ScoreLookup {
  public:
    // Returns nothing unless the tables are worth their time and memory for that many rows.
    static std::optional<ScoreLookup> build(const ScoreTree& tree, std::int64_t n_rows);

    // The same as `tree.add_to`, to the same bits.
    void add_to(const ScoreTree& tree, std::span<const std::span<const std::int32_t>> columns,
                std::int64_t first, std::int64_t last, double* joint) const;

  private:
    struct Step {
        std::int32_t context = -1;  // that may take this step
        std::int32_t child = -1;
        std::int32_t shift = 1;  // of the child's own steps
    };
    struct Cell {
        std::int32_t entry = -1;
        float score = 0.0F;
    };
    // Where the cells of an entry are, and which entry has the outcomes that it does not list. The
    // last one has score zero for all.
    struct Entry {
        float rest;
        std::int32_t shift;
        std::int32_t base;
    };

    bool lay_out_steps(const ScoreTree& tree);
    // Returns for each entry the one that answers for its class above, or -1.
    std::vector<std::int32_t> lay_out_entries(const ScoreTree& tree);
    void fill_table(const ScoreTree& tree, std::span<const std::int32_t> base);
    bool lay_out_cells(const ScoreTree& tree, std::span<const std::int32_t> base);
    void find_contexts(const ScoreTree& tree,
                       std::span<const std::span<const std::int32_t>> columns, std::int64_t first,
                       std::int64_t n_rows, std::int32_t* context) const;
    template <class Score>
    void add_table(const ScoreTree& tree, const Score* table, const std::int32_t* x,
                   std::int64_t n_rows, const std::int32_t* context, double* joint) const;
    void add_cells(const ScoreTree& tree, const std::int32_t* x, std::int64_t n_rows,
                   const std::int32_t* context, double* joint) const;

    std::vector<Step> steps_;
    std::int32_t root_shift_ = 1;
    std::int32_t n_parent_codes_ = 0;
    std::vector<std::int32_t> entry_;  // per context and class
    std::vector<double> table_;        // per entry and outcome, if that is not too much
    std::vector<Cell> cells_;          // else
    std::vector<Entry> entries_;
    std::int32_t n_listed_codes_ = 0;
};

}  // namespace priorwise
