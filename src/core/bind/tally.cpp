// Binding of the counts of few contexts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bind/arrays.hpp"
#include "common/parallel.hpp"
#include "counts/tally.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

using Table = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require_codes(const Columns& columns, std::span<const std::int32_t> arity) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
        bool inside = true;
        for (const auto code : view(columns[c])) inside &= code >= 0 && code < arity[c];
        require(inside, "column " + std::to_string(c) + ": codes must lie in 0.." +
                            std::to_string(arity[c] - 1));
    }
}

void add_to_tables(const Columns& columns, Vector<std::int32_t> arity,
                   const std::vector<std::int32_t>& targets,
                   const std::vector<std::vector<std::int32_t>>& paths, std::vector<Table>& tables,
                   int n_threads) {
    require(!columns.empty(), "columns is empty");
    require(targets.size() == paths.size() && targets.size() == tables.size(),
            "targets, paths and tables differ in length");
    const auto arities = view(arity);
    require(columns.size() == arities.size(), "columns and arities differ in length");
    for (const auto& column : columns)
        require(column.shape(0) == columns[0].shape(0), "columns differ in length");
    const auto at = [&](std::int32_t column) {
        require(column >= 0 && static_cast<std::size_t>(column) < columns.size(),
                "no column " + std::to_string(column));
        return static_cast<std::size_t>(column);
    };
    std::vector<CodedRows> work;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto target = at(targets[i]);
        CodedRows rows{static_cast<std::int64_t>(columns[0].shape(0)),
                       {},
                       {},
                       columns[target].data(),
                       arities[target],
                       nullptr};
        std::int64_t n_cells = arities[target];
        for (const auto column : paths[i]) {
            rows.path.push_back(columns[at(column)].data());
            rows.path_arity.push_back(arities[column]);
            n_cells *= arities[column];
            require(n_cells <= std::numeric_limits<std::int32_t>::max(), "too many cells");
        }
        require(static_cast<std::int64_t>(tables[i].shape(0)) == n_cells,
                "a table needs one cell per combination of values");
        work.push_back(std::move(rows));
    }
    nb::gil_scoped_release release;
    require_codes(columns, arities);
    parallel_for(static_cast<std::int64_t>(work.size()), n_threads, [&](std::int64_t i) {
        add_to_table(work[i], {tables[i].data(), tables[i].shape(0)});
    });
}

}  // namespace

void bind_tally(nb::module_& m) {
    m.def("add_to_tables", &add_to_tables, "columns"_a, "arity"_a, "targets"_a, "paths"_a,
          "tables"_a, "n_threads"_a);
}

}  // namespace priorwise
