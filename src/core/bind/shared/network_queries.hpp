// Bayesian networks that are asked something, and rows of evidence, checked.
#pragma once

#include <algorithm>

#include "bind/shared/define.hpp"
#include "common/parallel.hpp"
#include "networks/elimination.hpp"

namespace priorwise {

inline NetworkTables make_network_tables(Vector<std::int32_t> arities,
                                         const std::vector<Vector<std::int32_t>>& parents,
                                         const std::vector<Vector<double>>& tables) {
    const auto n = arities.size();
    check_size(parents.size(), n, "parents", "variable");
    check_size(tables.size(), n, "tables", "variable");
    NetworkTables result{copy(arities), {}, {}};
    for (const auto arity : arities) check_at_least(arity, 1, "arities");
    for (std::size_t i = 0; i < n; ++i) {
        double n_cells = arities[i];
        std::vector<std::int64_t> family{static_cast<std::int64_t>(i)};
        for (const auto parent : parents[i]) {
            n_cells *= arities[check_column(parent, n, "parents")];
            family.push_back(parent);
        }
        check_distinct_columns(family, n, "parents");
        require(n_cells == static_cast<double>(tables[i].size()), "table ", i, " must have ",
                n_cells, " cells, got ", tables[i].size());
        for (const auto p : tables[i])
            require(p >= 0.0 && p <= 1.0, "tables must hold probabilities, got ", p);
        result.parents.push_back(copy(parents[i]));
        result.tables.push_back(copy(tables[i]));
    }
    return result;
}

// What is asked of a network: targets given states of the evidence in each row.
struct NetworkQuery {
    Vector<std::int32_t> evidence;
    Matrix<std::int32_t> states;  // rows x evidence
    Vector<std::int32_t> targets;

    void check(const NetworkTables& tables, double max_cells) const {
        require(max_cells <= 0x1p28, "max_cells must be at most 2**28, got ", max_cells);
        const auto n = tables.arity.size();
        check_size(states.shape(1), evidence.size(), "a row of states", "entry of evidence");
        std::vector<std::int64_t> all(evidence.begin(), evidence.end());
        all.insert(all.end(), targets.begin(), targets.end());
        check_distinct_columns(all, n, "evidence and targets");
        for (std::size_t k = 0; k < states.size(); ++k)
            check_range(states[k], 0, tables.arity[evidence[k % evidence.size()]] - 1, "states");
    }
    std::size_t n_rows() const { return states.shape(0); }
};

// Rows that one thread eliminates for in turn.
inline constexpr std::size_t kEliminatedBlock = 32;
// Intermediate tables of more cells than this in all are held by one thread only.
inline constexpr double kSharedCells = 1 << 22;

// Call read(run, row) for each row of a query.
template <class Read>
void eliminate_rows(const Elimination& elimination, const NetworkQuery& query, int n_threads,
                    Read&& read) {
    const auto prepared = elimination.prepare();
    const auto n_blocks = (query.n_rows() + kEliminatedBlock - 1) / kEliminatedBlock;
    if (elimination.n_cells() > kSharedCells) n_threads = 1;
    parallel_for(static_cast<std::int64_t>(n_blocks), n_threads, [&](std::int64_t block) {
        Elimination::Run run;
        const auto first = static_cast<std::size_t>(block) * kEliminatedBlock;
        for (auto row = first; row < std::min(query.n_rows(), first + kEliminatedBlock); ++row) {
            elimination.run(run, prepared, query.states.data() + row * query.evidence.size());
            read(run, row);
        }
    });
}

}  // namespace priorwise
