// Factors of networks, and checks of them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bind/shared/checks.hpp"
#include "counts/factor.hpp"
#include "scores/score_tree.hpp"

namespace priorwise {

// The factor of a tree whose first level is the class; log_p and log_rest have been checked. It
// needs no lock of the interpreter.
inline OwnedFactor index_factor(std::int32_t column, std::vector<std::int32_t> path,
                                std::shared_ptr<const CountTree> tree, std::vector<double> log_p,
                                std::vector<double> log_rest, bool rest_towards_parent,
                                std::int32_t n_classes, bool backoff) {
    check_at_least(column, 0, "column");
    for (const auto parent : path) check_at_least(parent, 0, "path");
    check_at_least(n_classes, 1, "n_classes");
    check_size(path.size() + 1, std::max<std::size_t>(tree->level_start.size() - 2, 1), "path",
               "level of the tree below the class");
    if (tree->level_start.size() > 2)
        check_codes(std::span(tree->value).subspan(1, tree->level_start[2] - 1), n_classes,
                    "the classes of tree");
    auto index = std::make_shared<const ContextIndex>(index_contexts(*tree, n_classes, backoff));
    return {column,  std::move(path),     std::move(tree),  std::move(index),
            backoff, rest_towards_parent, std::move(log_p), std::move(log_rest)};
}

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
