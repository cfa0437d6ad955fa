#include "counts/tally.hpp"

#include <algorithm>
#include <array>

namespace priorwise {

void add_to_table(const CodedRows& rows, std::span<std::int64_t> table) {
    // Blocks of rows stay in the cache while one column after the other is mixed in.
    constexpr std::int64_t kBlock = 2048;
    std::array<std::int32_t, kBlock> place;
    for (std::int64_t first = 0; first < rows.n_rows; first += kBlock) {
        const auto n = std::min(kBlock, rows.n_rows - first);
        std::fill_n(place.begin(), n, 0);
        const auto mix = [&](const std::int32_t* column, std::int32_t arity) {
            for (std::int64_t r = 0; r < n; ++r) place[r] = place[r] * arity + column[first + r];
        };
        for (std::size_t level = 0; level < rows.path.size(); ++level)
            mix(rows.path[level], rows.path_arity[level]);
        mix(rows.outcome, rows.n_outcomes);
        if (rows.has_missing) {
            const auto drop = [&](const std::int32_t* column) {
                for (std::int64_t r = 0; r < n; ++r)
                    if (column[first + r] < 0) place[r] = -1;
            };
            for (const auto* column : rows.path) drop(column);
            drop(rows.outcome);
            for (std::int64_t r = 0; r < n; ++r)
                if (place[r] >= 0) ++table[place[r]];
            continue;
        }
        for (std::int64_t r = 0; r < n; ++r) ++table[place[r]];
    }
}

}  // namespace priorwise
