// Columns of codes that trees are counted from.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "bind/shared/checks.hpp"
#include "counts/count_tree.hpp"

namespace priorwise {

// Which columns have codes of -1; all others lie in their arities.
inline std::vector<bool> find_missing(const Columns& columns, std::span<const std::int32_t> arity) {
    check_columns(columns);
    check_size(arity.size(), columns.size(), "arity", "column");
    std::vector<bool> missing;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        check_at_least(arity[c], 1, "arity");
        missing.push_back(
            check_codes(columns[c], arity[c], "columns", static_cast<std::int64_t>(c), -1));
    }
    return missing;
}

inline std::vector<CodedRows> list_work(const Columns& columns, std::span<const std::int32_t> arity,
                                        const std::vector<std::int32_t>& targets,
                                        const std::vector<std::vector<std::int32_t>>& paths,
                                        const double* weight, const std::vector<bool>& missing) {
    check_size(paths.size(), targets.size(), "paths", "target");
    std::vector<CodedRows> work;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto target = check_column(targets[i], columns.size(), "targets");
        CodedRows rows{static_cast<std::int64_t>(columns[0].size()),
                       {},
                       {},
                       columns[target].data(),
                       arity[target],
                       weight,
                       missing[target]};
        for (const auto level : paths[i]) {
            const auto column = check_column(level, columns.size(), "paths");
            rows.path.push_back(columns[column].data());
            rows.path_arity.push_back(arity[column]);
            rows.has_missing |= missing[column];
        }
        work.push_back(std::move(rows));
    }
    return work;
}

}  // namespace priorwise
