// Bindings of the kernels of src/core/counts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/held_tree.hpp"
#include "common/parallel.hpp"
#include "counts/count_tree.hpp"
#include "counts/factor.hpp"
#include "counts/tally.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

using TreeArrays =
    std::tuple<NumpyVector<std::int32_t>, NumpyVector<std::int32_t>, NumpyVector<std::int64_t>,
               NumpyVector<std::int64_t>, NumpyVector<std::int32_t>, NumpyVector<std::int32_t>,
               NumpyVector<double>>;

std::vector<TreeArrays> fill_count_trees(const Columns& columns, Vector<std::int32_t> arity,
                                         const std::vector<std::int32_t>& targets,
                                         const std::vector<std::vector<std::int32_t>>& paths,
                                         std::optional<Vector<double>> weight,
                                         std::int32_t max_dense_outcomes, int n_threads) {
    require(!columns.empty(), "columns is empty");
    require(targets.size() == paths.size(), "targets and paths differ in length");
    const auto n_rows = static_cast<std::int64_t>(columns[0].shape(0));
    const auto arities = view(arity);
    const double* weights = nullptr;
    if (weight) {
        require(weight->shape(0) == columns[0].shape(0), "weight and columns differ in length");
        weights = weight->data();
    }
    const auto at = [&](std::int32_t column) {
        require(column >= 0 && static_cast<std::size_t>(column) < columns.size(),
                [&] { return "no column " + std::to_string(column); });
        return static_cast<std::size_t>(column);
    };
    std::vector<CodedRows> work;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto target = at(targets[i]);
        CodedRows rows{n_rows, {}, {}, columns[target].data(), arities[target], weights};
        for (const auto column : paths[i]) {
            rows.path.push_back(columns[at(column)].data());
            rows.path_arity.push_back(arities[column]);
        }
        work.push_back(std::move(rows));
    }
    std::vector<CountTree> trees(work.size());
    {
        nb::gil_scoped_release release;
        check_columns(columns, arities);
        parallel_for(static_cast<std::int64_t>(work.size()), n_threads, [&](std::int64_t i) {
            trees[i] = fill_count_tree(work[i], work[i].n_outcomes <= max_dense_outcomes);
        });
    }
    std::vector<TreeArrays> result;
    for (auto& tree : trees)
        result.emplace_back(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.value)),
                            to_numpy(std::move(tree.level_start)),
                            to_numpy(std::move(tree.row_start)), to_numpy(std::move(tree.outcome)),
                            to_numpy(std::move(tree.parent_cell)),
                            to_numpy(std::move(tree.counts)));
    return result;
}

NumpyVector<std::int32_t> find_deepest_nodes_of(Vector<std::int32_t> value,
                                                Vector<std::int32_t> child_start,
                                                const Columns& path, std::int64_t n_rows,
                                                int n_threads) {
    require(child_start.shape(0) == value.shape(0) + 1, "child_start and value do not fit");
    for (const auto& column : path)
        require(static_cast<std::int64_t>(column.shape(0)) == n_rows,
                "path columns differ in length");
    std::vector<std::int32_t> deepest(static_cast<std::size_t>(n_rows));
    {
        nb::gil_scoped_release release;
        constexpr std::int64_t block = 1 << 14;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            std::vector<const std::int32_t*> columns;
            for (const auto& column : path) columns.push_back(column.data() + b * block);
            find_deepest_nodes(view(value), view(child_start), columns,
                               std::min(block, n_rows - b * block), deepest.data() + b * block);
        });
    }
    return to_numpy(std::move(deepest));
}

using Table = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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
                [&] { return "no column " + std::to_string(column); });
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
    check_columns(columns, arities);
    parallel_for(static_cast<std::int64_t>(work.size()), n_threads, [&](std::int64_t i) {
        add_to_table(work[i], {tables[i].data(), tables[i].shape(0)});
    });
}

auto index_contexts_of(nb::handle tree, std::int32_t n_classes) {
    const auto parent = nb::cast<Vector<std::int32_t>>(tree.attr("parent"));
    const auto value = nb::cast<Vector<std::int32_t>>(tree.attr("value"));
    const auto level_start = nb::cast<Vector<std::int64_t>>(tree.attr("level_start"));
    ContextIndex index;
    {
        nb::gil_scoped_release release;
        index = index_contexts(view(parent), view(value), view(level_start), n_classes);
    }
    return std::tuple(to_numpy(std::move(index.value)), to_numpy(std::move(index.child_start)),
                      to_numpy(std::move(index.node)));
}

NumpyVector<double> log_rest_factors_of(nb::handle tree, Vector<double> p, bool towards_parent) {
    const HeldTree held(tree);
    require(p.shape(0) == held.view.counts.size(), "p needs one number per cell");
    return to_numpy(log_rest_factors(held.view, view(p), towards_parent));
}

}  // namespace

void bind_counts(nb::module_& m) {
    m.def("fill_count_trees", &fill_count_trees, "columns"_a, "arity"_a, "targets"_a, "paths"_a,
          "weight"_a.none(), "max_dense_outcomes"_a, "n_threads"_a);
    m.def("find_deepest_nodes", &find_deepest_nodes_of, "value"_a, "child_start"_a, "path"_a,
          "n_rows"_a, "n_threads"_a);
    m.def("add_to_tables", &add_to_tables, "columns"_a, "arity"_a, "targets"_a, "paths"_a,
          "tables"_a, "n_threads"_a);
    m.def("index_contexts", &index_contexts_of, "tree"_a, "n_classes"_a);
    m.def("log_rest_factors", &log_rest_factors_of, "tree"_a, "p"_a, "towards_parent"_a);
}

}  // namespace priorwise
