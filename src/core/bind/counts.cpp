// Bindings of the kernels of src/core/counts.
#include "bind/shared/counting.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/factors.hpp"
#include "common/parallel.hpp"
#include "counts/count_tree.hpp"
#include "counts/factor.hpp"

namespace priorwise {
namespace {

CountTree make_count_tree(Vector<std::int32_t> parent, Vector<std::int32_t> value,
                          Vector<std::int64_t> level_start, Vector<std::int64_t> row_start,
                          Vector<std::int32_t> outcome, Vector<std::int32_t> parent_cell,
                          Vector<double> counts, std::int32_t n_outcomes) {
    CountTree tree{n_outcomes,
                   copy(parent),
                   copy(value),
                   copy(level_start),
                   copy(row_start),
                   copy(outcome),
                   copy(parent_cell),
                   copy(counts),
                   {},
                   {}};
    validate(tree);
    return tree;
}

std::vector<nb::object> fill_count_trees(const nb::type_object& tree_class, const Columns& columns,
                                         Vector<std::int32_t> arity,
                                         const std::vector<std::int32_t>& targets,
                                         const std::vector<std::vector<std::int32_t>>& paths,
                                         std::optional<Vector<double>> weight,
                                         std::int32_t max_dense_outcomes, double min_rows,
                                         int n_threads) {
    check_class<CountTree>(tree_class, "tree_class");
    std::vector<CountTree> trees;
    without_gil([&] {
        const auto missing = find_missing(columns, arity);
        check_weights(weight, columns[0].size(), "weight");
        const auto work = list_work(columns, arity, targets, paths, data_or_null(weight), missing);
        trees.resize(work.size());
        parallel_for(static_cast<std::int64_t>(work.size()), n_threads, [&](std::int64_t i) {
            trees[i] = fill_count_tree(work[i], work[i].n_outcomes <= max_dense_outcomes, min_rows);
        });
    });
    std::vector<nb::object> result;
    for (auto& tree : trees) result.push_back(make_object(tree_class, std::move(tree)));
    return result;
}

// Rows with a missing value are left out. Returns the columns that have missing values.
std::vector<std::int32_t> add_to_tables(const Columns& columns, Vector<std::int32_t> arity,
                                        const std::vector<std::int32_t>& targets,
                                        const std::vector<std::vector<std::int32_t>>& paths,
                                        const std::vector<Output<std::int64_t>>& tables,
                                        int n_threads) {
    check_size(tables.size(), targets.size(), "tables", "target");
    const GilRelease release;
    const auto missing = find_missing(columns, arity);
    const auto work = list_work(columns, arity, targets, paths, nullptr, missing);
    for (std::size_t i = 0; i < work.size(); ++i) {
        std::int64_t n_cells = work[i].n_outcomes;
        for (const auto level : work[i].path_arity) {
            n_cells *= level;
            require(n_cells <= std::numeric_limits<std::int32_t>::max(),
                    "paths: a table has at most 2**31 - 1 cells");
        }
        check_size(tables[i].size(), static_cast<std::size_t>(n_cells), "tables",
                   "combination of values");
    }
    parallel_for(static_cast<std::int64_t>(work.size()), n_threads,
                 [&](std::int64_t i) { add_to_table(work[i], tables[i]); });
    std::vector<std::int32_t> with_missing;
    for (std::size_t c = 0; c < missing.size(); ++c)
        if (missing[c]) with_missing.push_back(static_cast<std::int32_t>(c));
    return with_missing;
}

NumpyVector<std::int32_t> find_tree_nodes(const CountTree& tree, const Columns& path,
                                          std::int64_t n_rows, int n_threads) {
    check_at_least(n_rows, 0, "n_rows");
    check_range(path.size(), 0, static_cast<std::int64_t>(tree.level_start.size()) - 2,
                "levels of path");
    for (const auto column : path)
        check_size(column.size(), static_cast<std::size_t>(n_rows), "path", "row");
    require_memory(4.0 * static_cast<double>(n_rows),
                   path.size() * static_cast<std::size_t>(n_rows), "n_rows", n_rows);
    std::vector<std::int32_t> deepest(static_cast<std::size_t>(n_rows));
    constexpr std::int64_t block = 1 << 14;
    without_gil([&] {
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            std::vector<const std::int32_t*> columns;
            for (const auto column : path.spans()) columns.push_back(column.data() + b * block);
            find_deepest_nodes(tree.value, tree.child_start, columns,
                               std::min(block, n_rows - b * block), deepest.data() + b * block);
        });
    });
    return to_numpy(std::move(deepest));
}

OwnedFactor make_factor(std::int32_t column, std::vector<std::int32_t> path,
                        std::shared_ptr<const CountTree> tree, Vector<double> log_p,
                        Vector<double> log_rest, bool rest_towards_parent, std::int32_t n_classes,
                        bool backoff) {
    check_size(log_p.size(), tree->counts.size(), "log_p", "cell of the tree");
    check_size(log_rest.size(), tree->is_dense() ? 0 : tree->parent.size(), "log_rest",
               "node of a tree that is not dense");
    const GilRelease release;
    return index_factor(column, std::move(path), std::move(tree), copy(log_p), copy(log_rest),
                        rest_towards_parent, n_classes, backoff);
}

// The factor of a tree and its smoothed probabilities, one per cell.
nb::object build_factor(const nb::type_object& factor_class, std::int32_t column,
                        std::vector<std::int32_t> path, std::shared_ptr<const CountTree> tree,
                        Vector<double> p, bool rest_towards_parent, std::int32_t n_classes,
                        bool backoff) {
    check_class<OwnedFactor>(factor_class, "factor_class");
    check_size(p.size(), tree->counts.size(), "p", "cell of the tree");
    std::vector<double> log_p(p.size()), log_rest;
    std::transform(p.begin(), p.end(), log_p.begin(), [](double q) { return std::log(q); });
    if (!tree->is_dense()) log_rest = log_rest_factors(tree->view(), p, rest_towards_parent);
    return make_object(factor_class, without_gil([&] {
                           return index_factor(column, std::move(path), std::move(tree),
                                               std::move(log_p), std::move(log_rest),
                                               rest_towards_parent, n_classes, backoff);
                       }));
}

}  // namespace

void bind_counts(nb::module_& m) {
    auto tree = define_class(m, "CountTree", &make_count_tree, "parent", "value", "level_start",
                             "row_start", "outcome", "parent_cell", "counts", "n_outcomes");
    define_arrays(tree, "parent", &CountTree::parent, "value", &CountTree::value, "level_start",
                  &CountTree::level_start, "row_start", &CountTree::row_start, "outcome",
                  &CountTree::outcome, "parent_cell", &CountTree::parent_cell, "counts",
                  &CountTree::counts, "child_start", &CountTree::child_start, "totals",
                  &CountTree::totals);
    tree.def_prop_ro("is_dense", &CountTree::is_dense).def_ro("n_outcomes", &CountTree::n_outcomes);

    auto factor = define_class(m, "Factor", &make_factor, "column", "path", "tree", "log_p",
                               "log_rest", "rest_towards_parent", "n_classes", "backoff");
    define_arrays(factor, "log_p", &OwnedFactor::log_p, "log_rest", &OwnedFactor::log_rest);
    factor.def_ro("column", &OwnedFactor::column)
        .def_prop_ro("path", [](const OwnedFactor& f) { return nb::tuple(nb::cast(f.path)); })
        .def_ro("tree", &OwnedFactor::tree)
        .def_ro("rest_towards_parent", &OwnedFactor::rest_towards_parent)
        .def_ro("backoff", &OwnedFactor::backoff)
        .def_prop_ro("n_classes", [](const OwnedFactor& f) { return f.index->n_classes; })
        .def_prop_ro("n_contexts", [](const OwnedFactor& f) { return f.index->value.size(); });

    define(m, "fill_count_trees", &fill_count_trees, "tree_class", "columns", "arity", "targets",
           "paths", "weight", "max_dense_outcomes", "min_rows", "n_threads");
    define(m, "add_to_tables", &add_to_tables, "columns", "arity", "targets", "paths", "tables",
           "n_threads");
    define(m, "find_tree_nodes", &find_tree_nodes, "tree", "path", "n_rows", "n_threads");
    define(m, "build_factor", &build_factor, "factor_class", "column", "path", "tree", "p",
           "rest_towards_parent", "n_classes", "backoff");
}

}  // namespace priorwise
