// The information in the rows in which both features of a pair are known.
#pragma once

#include <cstdint>

#include "common/fixed_log.hpp"
#include "pairs/pair_counts.hpp"

namespace priorwise {

// Values of a feature, of which those from `known` on are missing ones.
struct ValueRange {
    std::int32_t arity, known;
};

// N I(X_i; X_j | Y) of the N rows in which both are known, in the units of `log`:
//
//     sum f(n_ijy) - sum f(n_iy) - sum f(n_jy) + sum f(n_y),  f(n) = n ln n
//
// from the (class, value of i, value of j) table.
template <class Count>
std::int64_t sum_known_cells(const Count* cells, std::int32_t n_classes, ValueRange i, ValueRange j,
                             const FixedLog& log);

// The same from the rows, to the same bits. O(rows + cells), or O(rows log rows) where cells are
// many more than rows.
template <class Count>
std::int64_t sum_known_pair(const CodedTable& table, RowWeights weights, std::int64_t i,
                            std::int64_t j, const FixedLog& log);

}  // namespace priorwise
