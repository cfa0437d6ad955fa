// Counts of rows in tables of few contexts, and at the leaves of trees.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "counts/count_tree.hpp"

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

void check_size(std::size_t n_cells) {
    if (n_cells > std::numeric_limits<std::int32_t>::max())
        throw std::length_error("a count tree holds at most 2**31 - 1 cells");
}

void list_all_outcomes(std::int32_t n_outcomes, CountTree& tree) {
    const auto n_nodes = tree.parent.size();
    const auto n = static_cast<std::size_t>(n_outcomes);
    check_size(n_nodes * n);
    tree.row_start.resize(n_nodes + 1);
    tree.outcome.resize(n_nodes * n);
    tree.parent_cell.resize(n_nodes * n);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        tree.row_start[node] = static_cast<std::int64_t>(node * n);
        for (std::size_t k = 0; k < n; ++k) {
            tree.outcome[node * n + k] = static_cast<std::int32_t>(k);
            tree.parent_cell[node * n + k] =
                node == 0 ? -1
                          : static_cast<std::int32_t>(
                                static_cast<std::size_t>(tree.parent[node]) * n + k);
        }
    }
    tree.row_start[n_nodes] = static_cast<std::int64_t>(n_nodes * n);
}

void list_seen_outcomes(const LeafRows& rows, CountTree& tree) {
    const auto n_nodes = tree.parent.size();
    std::vector<std::vector<std::int32_t>> seen(n_nodes);
    for (std::size_t r = 0; r < rows.leaf.size(); ++r)
        if (rows.leaf[r] >= 0 && (!rows.weight || rows.weight[r] > 0.0))
            seen[rows.leaf[r]].push_back(rows.outcome[r]);
    // Children follow their parent, so going backwards every list is complete when it is passed on.
    for (auto node = n_nodes; node-- > 0;) {
        auto& list = seen[node];
        std::ranges::sort(list);
        list.erase(std::unique(list.begin(), list.end()), list.end());
        if (node > 0) {
            auto& above = seen[tree.parent[node]];
            above.insert(above.end(), list.begin(), list.end());
        }
    }
    tree.row_start.assign(1, 0);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        for (const auto k : seen[node]) {
            tree.outcome.push_back(k);
            if (node == 0) {
                tree.parent_cell.push_back(-1);
                continue;
            }
            const auto above = tree.parent[node];
            const auto place = std::ranges::lower_bound(seen[above], k) - seen[above].begin();
            tree.parent_cell.push_back(static_cast<std::int32_t>(tree.row_start[above] + place));
        }
        check_size(tree.outcome.size());
        tree.row_start.push_back(static_cast<std::int64_t>(tree.outcome.size()));
    }
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

void count_leaves(const LeafRows& rows, bool dense, CountTree& tree) {
    if (dense)
        list_all_outcomes(rows.n_outcomes, tree);
    else
        list_seen_outcomes(rows, tree);
    tree.counts.assign(tree.outcome.size(), 0.0);
    for (std::size_t r = 0; r < rows.leaf.size(); ++r) {
        const double w = rows.weight ? rows.weight[r] : 1.0;
        const auto node = rows.leaf[r];
        if (node < 0 || w <= 0.0) continue;
        const auto first = tree.outcome.begin() + tree.row_start[node];
        const auto cell =
            dense ? tree.row_start[node] + rows.outcome[r]
                  : std::lower_bound(first, tree.outcome.begin() + tree.row_start[node + 1],
                                     rows.outcome[r]) -
                        tree.outcome.begin();
        tree.counts[cell] += w;
    }
    for (auto cell = tree.counts.size(); cell-- > 0;)
        if (tree.parent_cell[cell] >= 0) tree.counts[tree.parent_cell[cell]] += tree.counts[cell];
}

}  // namespace priorwise
