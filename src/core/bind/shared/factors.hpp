// Checks of the factors of networks.
#pragma once

#include "bind/shared/checks.hpp"
#include "counts/factor.hpp"
#include "scores/score_tree.hpp"

namespace priorwise {

// A factor that may read the columns: they exist, and codes of its feature have cells. A code of -1
// is a value that training did not have.
inline void check_factor(const OwnedFactor& factor,
                         std::span<const std::span<const std::int32_t>> columns,
                         std::int64_t n_classes) {
    require(factor.index->n_classes == n_classes, "factors differ in classes");
    const auto column = check_column(factor.column, columns.size(), "the column of a factor");
    check_codes(columns[column], factor.tree->n_outcomes, "columns", factor.column, -1);
    for (const auto parent : factor.path)
        check_column(parent, columns.size(), "the path of a factor");
}

inline void check_score_tree(const ScoreTree& tree,
                             std::span<const std::span<const std::int32_t>> columns) {
    const auto column = check_column(tree.column, columns.size(), "the column of a factor");
    check_codes(columns[column], tree.n_outcomes, "columns", tree.column, -1);
    for (const auto parent : tree.path)
        check_column(parent, columns.size(), "the path of a factor");
}

}  // namespace priorwise
