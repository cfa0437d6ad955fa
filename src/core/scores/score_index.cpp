// Where the factors of a network are in its arrays.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "scores/score_tree.hpp"

namespace priorwise {
namespace {

void check(bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string("ScoreTree: ").append(rule));
}

}  // namespace

ScoreIndex::ScoreIndex(const ScoreArrays& arrays) {
    const auto n = arrays.size();
    for (const auto* sizes : {&arrays.n_outcomes, &arrays.n_parents, &arrays.n_contexts,
                              &arrays.n_entries, &arrays.n_cells})
        check(sizes->size() == n && std::ranges::all_of(*sizes, [](auto s) { return s >= 0; }),
              "sizes must be one per factor and not negative");
    check(arrays.rest_towards_parent.size() == n && arrays.is_dense.size() == n,
          "rest_towards_parent and is_dense must have one value per factor");
    place_.reserve(n);
    struct {
        std::size_t path = 0, context = 0, entry = 0, cell_start = 0, outcome = 0, cell = 0;
    } end;
    const auto narrow = [](std::size_t at) { return static_cast<std::uint32_t>(at); };
    for (std::size_t f = 0; f < n; ++f) {
        place_.push_back({narrow(end.path), narrow(end.context), narrow(end.entry),
                          narrow(end.cell_start), narrow(end.outcome), narrow(end.cell)});
        end.path += arrays.n_parents[f];
        end.context += arrays.n_contexts[f];
        end.entry += arrays.n_entries[f];
        end.cell += arrays.n_cells[f];
        if (arrays.is_dense[f]) continue;
        end.cell_start += static_cast<std::size_t>(arrays.n_entries[f]) + 1;
        end.outcome += arrays.n_cells[f];
    }
    check(arrays.path.size() == end.path && arrays.value.size() == end.context &&
              arrays.child_start.size() == end.context + n &&
              arrays.entry_start.size() == end.context + n &&
              arrays.entry_class.size() == end.entry && arrays.n_rows.size() == end.entry &&
              arrays.rest.size() == end.entry && arrays.cell_start.size() == end.cell_start &&
              arrays.outcome.size() == end.outcome && arrays.score.size() == end.cell,
          "arrays must have the lengths that the sizes of the factors say");
    // The places are in these arrays, and in others that are as long.
    check(std::max({arrays.path.size(), arrays.value.size(), arrays.rest.size(),
                    arrays.cell_start.size(), arrays.score.size()}) <=
              std::numeric_limits<std::uint32_t>::max(),
          "arrays must have at most 2**32 - 1 entries");
}

ScoreTree ScoreIndex::tree(const ScoreArrays& arrays, std::size_t f) const {
    const auto& at = place_[f];
    const auto part = [](const auto& array, std::size_t first, std::size_t size) {
        return std::span(array.data() + first, size);
    };
    const bool dense = arrays.is_dense[f];
    const auto n_contexts = static_cast<std::size_t>(arrays.n_contexts[f]);
    const auto n_entries = static_cast<std::size_t>(arrays.n_entries[f]);
    const auto n_cells = static_cast<std::size_t>(arrays.n_cells[f]);
    return {arrays.n_classes,
            arrays.column[f],
            arrays.n_outcomes[f],
            arrays.rest_towards_parent[f] != 0,
            part(arrays.path, at.path, static_cast<std::size_t>(arrays.n_parents[f])),
            part(arrays.value, at.context, n_contexts),
            part(arrays.child_start, at.context + f, n_contexts + 1),
            part(arrays.entry_start, at.context + f, n_contexts + 1),
            part(arrays.entry_class, at.entry, n_entries),
            part(arrays.n_rows, at.entry, n_entries),
            part(arrays.rest, at.entry, n_entries),
            part(arrays.cell_start, at.cell_start, dense ? 0 : n_entries + 1),
            part(arrays.outcome, at.outcome, dense ? 0 : n_cells),
            part(arrays.score, at.cell, n_cells)};
}

}  // namespace priorwise
