// Rows seated at the nodes of a tree: the state of a Gibbs sampler.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "processes/process.hpp"

namespace priorwise {

// kDiscounted is false where all discounts are zero and stay so.
template <bool kDiscounted>
struct SeatedRows {
    // Whole pseudo-counts nearest to the given ones that fit the rows.
    SeatedRows(const ProcessModel& model_of_tree, ProcessState& start)
        : model(model_of_tree),
          tree(model.tree),
          state(start),
          n(tree.counts.size(), 0),
          t(tree.counts.size(), 0),
          total(tree.parent.size(), 0),
          opened(kDiscounted ? 0 : static_cast<std::size_t>(model.n_groups), 0.0),
          tables(kDiscounted ? total.size() : 0, 0) {
        const auto ending = count_ending_rows(tree);
        for (std::size_t cell = 0; cell < n.size(); ++cell) n[cell] = std::llround(ending[cell]);
        for (std::int32_t node = tree.n_nodes() - 1; node >= 0; --node)
            for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
                total[node] += n[cell];
                if (node == 0 || n[cell] == 0) continue;
                const auto most = static_cast<double>(n[cell]);
                // NaN becomes one.
                t[cell] = std::llround(std::min(std::max(1.0, state.passed[cell]), most));
                n[tree.parent_cell[cell]] += t[cell];
                add_tables(node, t[cell]);
            }
        const auto leaf = find_leaves(tree);
        for (std::int32_t node = 1; node < tree.n_nodes(); ++node)
            (leaf[node] && !kDiscounted ? leaves : inner).push_back(node);
    }

    double concentration(std::int32_t node) const {
        return node == 0 ? model.root_concentration : state.concentration[model.group[node]];
    }

    double discount(std::int32_t node) const {
        if constexpr (!kDiscounted) return 0.0;
        return node == 0 ? 0.0 : state.discount[model.group[node]];
    }

    // c + a T, the share of a node's rows that its parent's estimate has, in rows; with `without`
    // fewer tables.
    double shared(std::int32_t node, std::int64_t without = 0) const {
        const double c = concentration(node);
        if constexpr (kDiscounted)
            return c + discount(node) * static_cast<double>(tables[node] - without);
        return c;
    }

    // n - a t, the share of its own rows.
    double kept(std::int32_t node, std::int64_t cell) const {
        const auto rows = static_cast<double>(n[cell]);
        if constexpr (kDiscounted) return rows - discount(node) * static_cast<double>(t[cell]);
        return rows;
    }

    void change_passed(std::int32_t node, std::int32_t cell, std::int64_t change) {
        t[cell] += change;
        n[tree.parent_cell[cell]] += change;
        total[tree.parent[node]] += change;
        add_tables(node, change);
    }

    const ProcessModel& model;
    const TreeView& tree;
    ProcessState& state;
    std::vector<std::int64_t> n;      // per cell: rows, or what the children passed
    std::vector<std::int64_t> t;      // per cell: passed to the parent
    std::vector<std::int64_t> total;  // N, per node
    // Without discounts, per group: sum of T. Whole numbers, which many levels may take beyond
    // 2^63.
    std::vector<double> opened;
    std::vector<std::int64_t> tables;  // with discounts: T, per node

    // The order in which nodes are sampled: without discounts the leaves first, whose rows never
    // change; with discounts all nodes below the root count as inner ones.
    std::vector<std::int32_t> leaves, inner;

  private:
    void add_tables(std::int32_t node, std::int64_t change) {
        if constexpr (kDiscounted) {
            tables[node] += change;
        } else {
            opened[model.group[node]] += static_cast<double>(change);
        }
    }
};

}  // namespace priorwise
