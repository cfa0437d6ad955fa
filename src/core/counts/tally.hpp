// Counts of few possible contexts, in a table with a cell for each of them.
#pragma once

#include <cstdint>
#include <span>

#include "counts/count_tree.hpp"

namespace priorwise {

// table[((v_1 * arity_2 + v_2) * ... ) * n_outcomes + outcome] += 1 for each row, v the values on
// its path. Codes must lie in their arities and the table must have a cell for every combination.
// Rows with a missing value (-1) are left out. Weights are not read.
void add_to_table(const CodedRows& rows, std::span<std::int64_t> table);

}  // namespace priorwise
