#include "counts/tally.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace priorwise {
namespace {

// Blocks of rows stay in the cache while one column after the other is mixed in.
constexpr std::int64_t kBlock = 2048;
// Tables of at most this many cells are counted in several copies: one cell that is counted again
// and again would have to be stored before it can be read.
constexpr std::size_t kSmallTable = 1024;
constexpr std::size_t kCopies = 4;

struct MixedColumn {
    const std::int32_t* codes;
    std::int32_t arity;
};

// Appends the digits of N columns to the places of n rows.
template <std::size_t N>
void mix(std::int32_t* __restrict place, const MixedColumn* columns, std::int64_t first,
         std::int64_t n) {
    std::array<const std::int32_t*, N> codes;
    std::array<std::int32_t, N> arity;
    for (std::size_t c = 0; c < N; ++c) {
        codes[c] = columns[c].codes + first;
        arity[c] = columns[c].arity;
    }
    for (std::int64_t r = 0; r < n; ++r) {
        auto number = place[r];
        for (std::size_t c = 0; c < N; ++c) number = number * arity[c] + codes[c][r];
        place[r] = number;
    }
}

void mix_all(std::int32_t* place, const std::vector<MixedColumn>& columns, std::int64_t first,
             std::int64_t n) {
    std::fill_n(place, n, 0);
    std::size_t c = 0;
    for (; c + 4 <= columns.size(); c += 4) mix<4>(place, columns.data() + c, first, n);
    for (; c + 2 <= columns.size(); c += 2) mix<2>(place, columns.data() + c, first, n);
    if (c < columns.size()) mix<1>(place, columns.data() + c, first, n);
}

void count_block(const std::int32_t* place, std::int64_t n, std::span<std::int64_t> table) {
    if (table.size() > kSmallTable) {
        for (std::int64_t r = 0; r < n; ++r) ++table[place[r]];
        return;
    }
    std::array<std::int32_t, kCopies * kSmallTable> counts;
    std::fill_n(counts.begin(), kCopies * table.size(), 0);
    std::int64_t r = 0;
    for (; r + static_cast<std::int64_t>(kCopies) <= n; r += kCopies)
        for (std::size_t copy = 0; copy < kCopies; ++copy)
            ++counts[copy * table.size() + static_cast<std::size_t>(place[r + copy])];
    for (; r < n; ++r) ++counts[static_cast<std::size_t>(place[r])];
    for (std::size_t cell = 0; cell < table.size(); ++cell)
        for (std::size_t copy = 0; copy < kCopies; ++copy)
            table[cell] += counts[copy * table.size() + cell];
}

}  // namespace

void add_to_table(const CodedRows& rows, std::span<std::int64_t> table) {
    std::vector<MixedColumn> columns;
    for (std::size_t level = 0; level < rows.path.size(); ++level)
        columns.push_back({rows.path[level], rows.path_arity[level]});
    columns.push_back({rows.outcome, rows.n_outcomes});
    std::array<std::int32_t, kBlock> place;
    for (std::int64_t first = 0; first < rows.n_rows; first += kBlock) {
        const auto n = std::min(kBlock, rows.n_rows - first);
        mix_all(place.data(), columns, first, n);
        if (!rows.has_missing) {
            count_block(place.data(), n, table);
            continue;
        }
        for (const auto& column : columns)
            for (std::int64_t r = 0; r < n; ++r)
                if (column.codes[first + r] < 0) place[r] = -1;
        for (std::int64_t r = 0; r < n; ++r)
            if (place[r] >= 0) ++table[place[r]];
    }
}

}  // namespace priorwise
