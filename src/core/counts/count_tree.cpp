#include "counts/count_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/interrupt.hpp"
#include "common/require.hpp"

namespace priorwise {
namespace {

using Key = std::uint64_t;  // group * arity + value

// The distinct (group, value) pairs of the rows, sorted, and the index of each row's pair.
struct Refinement {
    std::vector<std::int32_t> group;
    std::vector<std::int32_t> value;
    std::vector<std::int32_t> member;  // per row
};

// Open addressing: key -> order of first appearance.
class KeyIndex {
  public:
    explicit KeyIndex(std::size_t n_keys) {
        std::size_t capacity = 16;
        while (capacity < 2 * n_keys) capacity *= 2;
        slots_.assign(capacity, {kEmpty, 0});
    }

    std::int32_t find_or_add(Key key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (key * 0x9E3779B97F4A7C15ULL >> 20) & mask;
        while (slots_[at].key != key) {
            if (slots_[at].key == kEmpty) {
                slots_[at] = {key, static_cast<std::int32_t>(keys.size())};
                keys.push_back(key);
                break;
            }
            at = (at + 1) & mask;
        }
        return slots_[at].index;
    }

    std::vector<Key> keys;

  private:
    static constexpr Key kEmpty = std::numeric_limits<Key>::max();
    struct Slot {
        Key key;
        std::int32_t index;
    };
    std::vector<Slot> slots_;
};

// Few possible pairs: mark them in a table, which comes out sorted by itself.
void refine_by_table(std::span<const std::int32_t> group, std::size_t n_groups,
                     const std::int32_t* column, std::int32_t arity, Refinement& result) {
    const auto place_of = [&](std::size_t r) {
        return static_cast<std::size_t>(group[r]) * static_cast<std::size_t>(arity) +
               static_cast<std::size_t>(column[r]);
    };
    std::vector<std::int32_t> index(n_groups * static_cast<std::size_t>(arity), 0);
    std::size_t n_distinct = 0;
    for (std::size_t r = 0; r < group.size(); ++r) {
        auto& occurs = index[place_of(r)];
        n_distinct += occurs == 0;
        occurs = 1;
    }
    // Every pair is written behind those that occur, and stays if it does: no branches.
    result.group.resize(n_distinct + 1);
    result.value.resize(n_distinct + 1);
    WorkPoll poll;
    auto* place = index.data();
    std::int32_t n_found = 0;
    for (std::size_t g = 0; g < n_groups; ++g) {
        poll.add(arity);
        for (std::int32_t value = 0; value < arity; ++value, ++place) {
            const auto occurs = *place;
            *place = n_found;
            result.group[n_found] = static_cast<std::int32_t>(g);
            result.value[n_found] = value;
            n_found += occurs;
        }
    }
    result.group.pop_back();
    result.value.pop_back();
    for (std::size_t r = 0; r < group.size(); ++r) result.member[r] = index[place_of(r)];
}

// Many possible pairs, of which at most one per row occurs.
void refine_by_hash(std::span<const std::int32_t> group, const std::int32_t* column,
                    std::int32_t arity, Refinement& result) {
    auto& member = result.member;
    KeyIndex index(group.size());
    for (std::size_t r = 0; r < group.size(); ++r) {
        poll_every<1 << 16>(r);
        member[r] = index.find_or_add(static_cast<Key>(group[r]) * static_cast<Key>(arity) +
                                      static_cast<Key>(column[r]));
    }
    std::vector<std::int32_t> order(index.keys.size());
    std::iota(order.begin(), order.end(), 0);
    sort_polling(order.begin(), order.end(),
                 [&](std::int32_t i, std::int32_t j) { return index.keys[i] < index.keys[j]; });
    std::vector<std::int32_t> rank(order.size());
    result.group.reserve(order.size());
    result.value.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        poll_every<1 << 16>(i);
        rank[order[i]] = static_cast<std::int32_t>(i);
        const Key k = index.keys[order[i]];
        result.group.push_back(static_cast<std::int32_t>(k / static_cast<Key>(arity)));
        result.value.push_back(static_cast<std::int32_t>(k % static_cast<Key>(arity)));
    }
    for (std::size_t r = 0; r < member.size(); ++r) {
        poll_every<1 << 16>(r);
        member[r] = rank[member[r]];
    }
}

Refinement refine(std::span<const std::int32_t> group, std::size_t n_groups,
                  const std::int32_t* column, std::int32_t arity) {
    poll_interrupt();
    Refinement result;
    result.member.resize(group.size());
    const Key n_keys = static_cast<Key>(n_groups) * static_cast<Key>(arity);
    if (n_keys <= std::max<Key>(4096, 4 * group.size()))
        refine_by_table(group, n_groups, column, arity, result);
    else
        refine_by_hash(group, column, arity, result);
    return result;
}

// Columns of the rows that count, packed.
struct Packed {
    std::vector<std::vector<std::int32_t>> path;
    std::vector<std::int32_t> outcome;
    std::vector<double> weight;
};

Packed pack_rows(const CodedRows& rows) {
    const auto counts = [&](std::int64_t r) {
        return (!rows.weight || rows.weight[r] != 0.0) &&
               (!rows.has_missing || rows.outcome[r] >= 0);
    };
    std::int64_t n_first = 0;  // rows before the first that does not count
    while (n_first < rows.n_rows && counts(n_first)) ++n_first;
    const bool all_count = n_first == rows.n_rows;
    std::vector<std::int64_t> kept;
    if (!all_count)
        for (std::int64_t r = 0; r < rows.n_rows; ++r)
            if (counts(r)) kept.push_back(r);
    const auto take = [&](const auto* column) {
        poll_interrupt();
        using Value = std::remove_cvref_t<decltype(*column)>;
        if (all_count) return std::vector<Value>(column, column + rows.n_rows);
        std::vector<Value> packed(kept.size());
        for (std::size_t i = 0; i < kept.size(); ++i) packed[i] = column[kept[i]];
        return packed;
    };
    Packed packed;
    for (const auto* column : rows.path) packed.path.push_back(take(column));
    packed.outcome = take(rows.outcome);
    if (rows.weight)
        packed.weight = take(rows.weight);
    else
        packed.weight.assign(packed.outcome.size(), 1.0);
    return packed;
}

class TreeFiller {
  public:
    TreeFiller(const CodedRows& rows, bool dense, double min_rows)
        : rows_(rows), packed_(pack_rows(rows)), dense_(dense), min_rows_(min_rows) {}

    CountTree fill() {
        tree_.parent = {-1};
        tree_.value = {-1};
        tree_.level_start = {0, 1};
        tree_.row_start = {0};
        node_.assign(packed_.outcome.size(), 0);
        list_cells_of_level(0);
        for (std::size_t level = 0; level < packed_.path.size(); ++level) {
            if (rows_.has_missing) {
                const auto* column = packed_.path[level].data();
                stop_rows(level, [&](std::size_t r) { return column[r] < 0; });
            }
            if (level > 0 && min_rows_ > 1.0) stop_rows_of_small_contexts(level);
            add_level(level);
            list_cells_of_level(level + 1);
        }
        count_cells();
        tree_.n_outcomes = rows_.n_outcomes;
        index_nodes(tree_);
        return std::move(tree_);
    }

  private:
    // Leave out the rows whose values of the levels 1 .. level few rows share.
    void stop_rows_of_small_contexts(std::size_t level) {
        if (level == 1) context_.assign(node_.size(), 0);
        auto contexts =
            refine(context_, n_contexts_, packed_.path[level].data(), rows_.path_arity[level]);
        context_ = std::move(contexts.member);
        n_contexts_ = contexts.value.size();
        std::vector<double> n_rows(n_contexts_, 0.0);
        for (std::size_t r = 0; r < context_.size(); ++r) n_rows[context_[r]] += packed_.weight[r];
        stop_rows(level, [&](std::size_t r) { return n_rows[context_[r]] < min_rows_; });
    }

    // Leave out some rows from this level on, and remember where they are counted.
    template <class Stops>
    void stop_rows(std::size_t level, Stops&& stops) {
        std::vector<std::size_t> kept;
        for (std::size_t r = 0; r < node_.size(); ++r) {
            if (stops(r))
                stopped_.push_back({cell_of(r, level), packed_.weight[r]});
            else
                kept.push_back(r);
        }
        if (kept.size() == node_.size()) return;
        const auto keep = [&](auto& values) {
            for (std::size_t i = 0; i < kept.size(); ++i) values[i] = values[kept[i]];
            values.resize(kept.size());
        };
        for (auto later = level; later < packed_.path.size(); ++later) keep(packed_.path[later]);
        keep(packed_.outcome);
        keep(packed_.weight);
        keep(node_);
        if (!context_.empty()) keep(context_);
        if (!dense_) keep(cell_);
    }

    // The cell of a row at the given level, which is the last that has nodes.
    std::int64_t cell_of(std::size_t r, std::size_t level) const {
        if (!dense_) return cell_[r];
        return tree_.row_start[tree_.level_start[level] + node_[r]] + packed_.outcome[r];
    }

    void add_level(std::size_t level) {
        const auto first_parent = tree_.level_start[level];
        const auto n_parents = tree_.level_start[level + 1] - first_parent;
        auto children = refine(node_, static_cast<std::size_t>(n_parents),
                               packed_.path[level].data(), rows_.path_arity[level]);
        for (std::size_t i = 0; i < children.group.size(); ++i) {
            tree_.parent.push_back(static_cast<std::int32_t>(first_parent) + children.group[i]);
            tree_.value.push_back(children.value[i]);
        }
        tree_.level_start.push_back(static_cast<std::int64_t>(tree_.parent.size()));
        node_ = std::move(children.member);
    }

    void list_cells_of_level(std::size_t level) {
        const auto first_node = tree_.level_start[level];
        const auto n_nodes = tree_.level_start[level + 1] - first_node;
        if (dense_)
            list_all_outcomes(first_node, n_nodes);
        else
            list_seen_outcomes(n_nodes);
        check_size(tree_.outcome.size());
    }

    static void check_size(std::size_t n_cells) {
        require(n_cells <= std::numeric_limits<std::int32_t>::max(),
                "a count tree holds at most 2**31 - 1 cells");
    }

    void list_all_outcomes(std::int64_t first_node, std::int64_t n_nodes) {
        const std::int32_t n_outcomes = rows_.n_outcomes;
        const auto n_cells = tree_.outcome.size() + static_cast<std::size_t>(n_nodes) * n_outcomes;
        check_size(n_cells);
        require_memory(16.0 * static_cast<double>(n_cells),
                       packed_.outcome.size() * (packed_.path.size() + 1), "arity", n_outcomes);
        tree_.outcome.reserve(n_cells);
        tree_.parent_cell.reserve(n_cells);
        for (std::int64_t u = first_node; u < first_node + n_nodes; ++u) {
            const std::int32_t parent = tree_.parent[u];
            for (std::int32_t k = 0; k < n_outcomes; ++k) {
                tree_.outcome.push_back(k);
                tree_.parent_cell.push_back(
                    parent < 0 ? -1 : static_cast<std::int32_t>(tree_.row_start[parent]) + k);
            }
            tree_.row_start.push_back(static_cast<std::int64_t>(tree_.outcome.size()));
        }
    }

    // The outcome refines the nodes just as one more level would.
    void list_seen_outcomes(std::int64_t n_nodes) {
        const auto first_cell = static_cast<std::int32_t>(tree_.outcome.size());
        auto cells = refine(node_, static_cast<std::size_t>(n_nodes), packed_.outcome.data(),
                            rows_.n_outcomes);
        std::vector<std::int64_t> row_length(static_cast<std::size_t>(n_nodes), 0);
        for (const auto node : cells.group) ++row_length[node];
        for (const auto length : row_length)
            tree_.row_start.push_back(tree_.row_start.back() + length);
        tree_.outcome.insert(tree_.outcome.end(), cells.value.begin(), cells.value.end());
        tree_.parent_cell.resize(tree_.outcome.size(), -1);
        for (std::size_t r = 0; r < cells.member.size(); ++r) {
            poll_every<1 << 16>(r);
            const std::int32_t cell = first_cell + cells.member[r];
            if (!cell_.empty()) tree_.parent_cell[cell] = cell_[r];
            cells.member[r] = cell;
        }
        cell_ = std::move(cells.member);
    }

    void count_cells() {
        tree_.counts.assign(tree_.outcome.size(), 0.0);
        for (const auto& [cell, weight] : stopped_) tree_.counts[cell] += weight;
        const auto last_level = tree_.level_start.size() - 2;
        for (std::size_t r = 0; r < packed_.outcome.size(); ++r) {
            poll_every<1 << 16>(r);
            tree_.counts[cell_of(r, last_level)] += packed_.weight[r];
        }
        for (std::size_t cell = tree_.counts.size(); cell-- > 0;) {
            poll_every<1 << 16>(cell);
            if (tree_.parent_cell[cell] >= 0)
                tree_.counts[tree_.parent_cell[cell]] += tree_.counts[cell];
        }
    }

    const CodedRows& rows_;
    Packed packed_;
    bool dense_;
    CountTree tree_;
    std::vector<std::int32_t> node_;  // per row: its node, numbered within the level
    std::vector<std::int32_t> cell_;  // per row: its cell (sparse trees only)
    const double min_rows_;
    std::vector<std::int32_t> context_;  // per row: its values below the first level, numbered
    std::size_t n_contexts_ = 1;
    std::vector<std::pair<std::int64_t, double>> stopped_;  // cells and weights of rows left out
};

}  // namespace

std::vector<double> count_ending_rows(const TreeView& tree) {
    // Added up as in TreeFiller: without such rows every difference is zero, to the last bit.
    std::vector<double> below(tree.counts.size(), 0.0), ending(tree.counts.size());
    for (std::size_t cell = tree.counts.size(); cell-- > 0;) {
        const double n = tree.counts[cell];
        // Real weights leave a rounding error.
        ending[cell] = n - below[cell] > 1e-9 * n ? n - below[cell] : 0.0;
        if (tree.parent_cell[cell] >= 0) below[tree.parent_cell[cell]] += n;
    }
    return ending;
}

CountTree fill_count_tree(const CodedRows& rows, bool dense, double min_rows) {
    return TreeFiller(rows, dense, min_rows).fill();
}

void find_deepest_nodes(std::span<const std::int32_t> value,
                        std::span<const std::int32_t> child_start,
                        std::span<const std::int32_t* const> path, std::int64_t n_rows,
                        std::int32_t* deepest) {
    for (std::int64_t r = 0; r < n_rows; ++r) {
        std::int32_t node = 0;
        for (const auto* column : path) {
            const auto first = value.begin() + child_start[node];
            const auto last = value.begin() + child_start[node + 1];
            // A node with every child has the child of value v at place v: try there first.
            const std::int32_t v = column[r];
            auto child = v >= 0 && v < last - first && first[v] == v
                             ? first + v
                             : std::lower_bound(first, last, v);
            if (child == last || *child != v) break;
            node = static_cast<std::int32_t>(child - value.begin());
        }
        deepest[r] = node;
    }
}

}  // namespace priorwise
