// One factor log p(x | class, parents) of a network, packed for prediction.
//
// A context stands for values of the first parents. It has entries for the classes that have rows
// there; for the other classes the contexts above answer, at last the root entry, which serves all
// classes. An entry lists scores of outcomes. An outcome that it does not list has the score
// `rest`, added to the score of the context above if `rest_towards_parent`.
//
// Scores are multiples of 2^-24, so their sums are exact in 64 bits, in any order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counts/factor.hpp"

namespace priorwise {

// Spans over the arrays of a factor; `ScoreArrays` own them.
struct ScoreTree {
    std::int32_t n_classes;
    std::int32_t column;      // the feature
    std::int32_t n_outcomes;  // of the feature
    bool rest_towards_parent;
    std::span<const std::int32_t> path;         // the parents
    std::span<const std::int32_t> value;        // per context: the parent value that leads to it
    std::span<const std::int32_t> child_start;  // per context, and one past the last
    std::span<const std::int32_t> entry_start;  // per context, and one past the last
    std::span<const std::int32_t> entry_class;  // per entry; -1 at the root entry
    std::span<const float> n_rows;              // per entry: rows that it was learnt from
    std::span<const float> rest;                // per entry
    // Per entry, and one past the last; empty if every entry lists all outcomes.
    std::span<const std::int32_t> cell_start;
    std::span<const std::int32_t> outcome;  // per cell, rising within an entry; empty likewise
    std::span<const float> score;           // per cell

    bool dense() const { return cell_start.empty(); }
    std::int32_t n_contexts() const { return static_cast<std::int32_t>(value.size()); }
    std::int32_t n_entries() const { return static_cast<std::int32_t>(rest.size()); }

    // The score of x at an entry below one with the score `above`.
    double score_of(std::int32_t entry, std::int32_t x, double above) const {
        if (dense()) return score[static_cast<std::size_t>(entry) * n_outcomes + x];
        const auto* last = outcome.data() + cell_start[entry + 1];
        const auto* cell = find_code(outcome.data() + cell_start[entry], last, x);
        if (cell != last) return score[cell - outcome.data()];
        return rest_towards_parent ? rest[entry] + above : rest[entry];
    }

    // Call use(context, level) for the root and each context that the parents of a row lead to.
    template <class Use>
    void walk(std::span<const std::span<const std::int32_t>> columns, std::int64_t row,
              Use&& use) const {
        std::int32_t context = 0;
        use(context, 0);
        for (std::size_t level = 0; level < path.size(); ++level) {
            const auto* end = value.data() + child_start[context + 1];
            const auto* child = find_code(value.data() + child_start[context], end,
                                          columns[static_cast<std::size_t>(path[level])][row]);
            if (child == end) return;
            context = static_cast<std::int32_t>(child - value.data());
            use(context, static_cast<std::int32_t>(level) + 1);
        }
    }

    // joint[row * classes + y] += log p(x | y, parents) for the rows first .. last. A value of x
    // that training did not have leaves the factor out.
    void add_to(std::span<const std::span<const std::int32_t>> columns, std::int64_t first,
                std::int64_t last, double* joint) const;

    // Per row and class: the rows behind the score, and how many of the class and the parents it
    // does not use. Both are zero for a value of x that training did not have.
    void find_support(std::span<const std::span<const std::int32_t>> columns, std::int64_t n_read,
                      float* support, std::int32_t* n_unused) const;
};

// The arrays of the factors of a network, one factor behind the other, as in `ScoreTree`.
struct ScoreArrays {
    std::int32_t n_classes = 0;
    // Per factor.
    std::vector<std::int32_t> column, n_outcomes, n_parents, n_contexts, n_entries, n_cells;
    std::vector<std::uint8_t> rest_towards_parent, is_dense;
    std::vector<std::int32_t> path;
    std::vector<std::int32_t> value, child_start, entry_start, entry_class;
    std::vector<float> n_rows, rest;
    std::vector<std::int32_t> cell_start, outcome;
    std::vector<float> score;

    std::size_t size() const { return column.size(); }
    void append(const ScoreTree& tree);
};

// Where each factor begins in the arrays.
class ScoreIndex {
  public:
    // Throws std::invalid_argument unless the arrays have the lengths that the factors need, at
    // most 2^32 - 1.
    explicit ScoreIndex(const ScoreArrays& arrays);
    ScoreTree tree(const ScoreArrays& arrays, std::size_t factor) const;

  private:
    // In 32 bits: networks of thousands of features have small factors.
    struct Place {
        std::uint32_t path, context, entry, cell_start, outcome, cell;
    };

    std::vector<Place> place_;
};

// Number of rows of each context of a factor, in all classes; the root has all rows.
std::vector<double> count_context_rows(const OwnedFactor& factor);

// Contexts with fewer rows than `min_rows` are left out: the context above answers for them.
ScoreArrays pack_scores(const OwnedFactor& factor, double min_rows);

// Throw std::invalid_argument unless rows may walk the tree. O(contexts + entries + cells).
void validate(const ScoreTree& tree);

}  // namespace priorwise
