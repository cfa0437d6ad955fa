// Bindings of the kernels of src/core/forests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/features.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

PackedTrees make_packed_trees(Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes) {
    require(nodes.size() % sizeof(ForestNode) == 0, "nodes must be records of 16 bytes");
    PackedTrees trees{{tree_start.begin(), tree_start.end()},
                      std::vector<ForestNode>(nodes.size() / sizeof(ForestNode)),
                      0};
    if (nodes.size() > 0) std::memcpy(trees.nodes.data(), nodes.data(), nodes.size());
    validate(trees);
    return trees;
}

// The nodes as bytes that may not be written to.
nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> node_bytes(const PackedTrees& trees) {
    return {reinterpret_cast<const std::uint8_t*>(trees.nodes.data()),
            {trees.nodes.size() * sizeof(ForestNode)}};
}

void check_node_rows(const PackedTrees& trees, const Matrix<double>& rows, const char* name) {
    require(!trees.nodes.empty(), "trees is empty");
    check_size(rows.shape(0), trees.nodes.size(), name, "node");
    check_range(rows.shape(1), 1, 1 << 30, name);
}

ForestRows check_forest_rows(const PackedTrees& trees, const Matrix<std::int32_t>& leaf,
                             const Matrix<float>& out, const Vector<std::int32_t>& outcome,
                             std::int64_t n_outcomes) {
    const auto n_trees = trees.tree_start.size() - 1;
    const auto n_rows = outcome.size();
    require(leaf.shape(0) == n_trees && leaf.shape(1) == n_rows,
            "leaf needs one entry per tree and row");
    require(out.shape(0) == n_trees && out.shape(1) == n_rows,
            "out needs one entry per tree and row");
    check_codes(outcome, n_outcomes, "outcome");
    for (std::size_t t = 0; t < n_trees; ++t)
        check_codes({leaf.data() + t * n_rows, n_rows},
                    trees.tree_start[t + 1] - trees.tree_start[t], "leaf",
                    static_cast<std::int64_t>(t), -1);
    check_finite(std::span<const float>(out), "out");
    return {leaf, out, outcome};
}

auto grow_random_forest_of(const FeatureColumns& columns, Vector<std::int32_t> outcome,
                           std::int32_t n_outcomes, Weight grow_weight, Weight count_weight,
                           double share, bool count_all, double min_samples_leaf,
                           std::int32_t max_depth, std::int32_t max_features,
                           std::int32_t n_random_splits, Vector<std::uint64_t> seeds,
                           int n_threads) {
    const auto n_rows = outcome.size();
    columns.check_rows(static_cast<std::int64_t>(n_rows));
    check_range(columns.size(), 0, (1 << (31 - ForestNode::kPlaces)) - 1, "the number of columns");
    const auto rules =
        check_random_rules(min_samples_leaf, max_depth, max_features, n_random_splits, 0);
    require(share >= 0.0 && share <= 1.0, "share must lie in 0..1");
    require(seeds.size() > 0, "seeds is empty");
    GrownForest forest;
    {
        nb::gil_scoped_release release;
        const auto rows =
            check_growth_rows(columns.features(), outcome, n_outcomes, grow_weight, count_weight);
        columns.check_training_codes();
        forest = grow_random_forest(rows, rules, share, count_all, seeds, n_threads);
    }
    const auto n_nodes = forest.nodes.size();
    return std::tuple(
        to_numpy(std::move(forest.tree_start)), to_bytes(std::move(forest.nodes)),
        to_numpy(std::move(forest.gain)),
        to_numpy(std::move(forest.counts), {n_nodes, static_cast<std::size_t>(n_outcomes)}),
        to_numpy(std::move(forest.leaf), {seeds.size(), n_rows}),
        to_numpy(std::move(forest.out), {seeds.size(), n_rows}));
}

NumpyMatrix smooth_forest_of(const PackedTrees& trees, Matrix<double> counts, double strength,
                             int n_threads) {
    check_node_rows(trees, counts, "counts");
    check_positive(strength, "strength");
    std::vector<double> proba(counts.size());
    without_gil([&] { smooth_forest(trees.view(), counts, strength, n_threads, proba); });
    return to_numpy(std::move(proba), {counts.shape(0), counts.shape(1)});
}

// With one strength: the probabilities of all outcomes; with more: of the outcome of each row.
std::pair<NumpyMatrix, NumpyVector<double>> sum_out_of_bag_of(
    const PackedTrees& trees, Matrix<double> counts, Matrix<std::int32_t> leaf, Matrix<float> out,
    Vector<std::int32_t> outcome, Vector<double> own, Vector<std::int64_t> some,
    Vector<double> strengths, bool all_outcomes, int n_threads) {
    check_node_rows(trees, counts, "counts");
    check_size(own.size(), outcome.size(), "own", "row");
    check_range(strengths.size(), 1, all_outcomes ? 1 : kMaxStrengths, "the number of strengths");
    for (const auto c : strengths) check_positive(c, "strengths");
    for (const auto row : some) check_column(row, outcome.size(), "some");
    const auto n_some = some.size();
    const auto width = all_outcomes ? counts.shape(1) : strengths.size();
    std::vector<double> total(n_some * width), weight(n_some);
    {
        nb::gil_scoped_release release;
        const auto forest = trees.view();
        const auto n_outcomes = static_cast<std::int32_t>(counts.shape(1));
        const auto rows = check_forest_rows(trees, leaf, out, outcome, n_outcomes);
        const OutOfBag data{forest, counts, n_outcomes, rows, own, some};
        if (all_outcomes)
            sum_out_of_bag(data, strengths[0], n_threads, total, weight);
        else
            sum_outcome_proba(data, strengths, n_threads, total, weight);
    }
    return {to_numpy(std::move(total), {n_some, width}), to_numpy(std::move(weight))};
}

std::pair<NumpyMatrix, NumpyVector<double>> sum_leaf_rows_of(
    const PackedTrees& trees, Matrix<double> node_rows, Matrix<std::int32_t> leaf,
    Matrix<float> out, Vector<std::int32_t> outcome, int n_threads) {
    check_node_rows(trees, node_rows, "node_rows");
    const auto n_rows = outcome.size(), width = node_rows.shape(1);
    std::vector<double> total(n_rows * width), weight(n_rows);
    {
        nb::gil_scoped_release release;
        const auto rows =
            check_forest_rows(trees, leaf, out, outcome, std::numeric_limits<std::int32_t>::max());
        sum_leaf_rows(trees.view(), rows, node_rows, n_threads, total, weight);
    }
    return {to_numpy(std::move(total), {n_rows, width}), to_numpy(std::move(weight))};
}

void check_columns(const PackedTrees& trees, const FeatureColumns& columns, std::int64_t n_rows) {
    columns.check_rows(n_rows);
    check_at_least(columns.size(), trees.n_features, "the number of columns");
}

NumpyMatrix to_matrix(std::vector<double>&& values, std::int64_t n_rows, std::size_t width) {
    return to_numpy(std::move(values), {static_cast<std::size_t>(n_rows), width});
}

auto find_forest_leaves_of(const PackedTrees& trees, const FeatureColumns& columns,
                           std::int64_t n_rows, int n_threads) {
    check_columns(trees, columns, n_rows);
    const auto n_trees = trees.tree_start.size() - 1, n = static_cast<std::size_t>(n_rows);
    std::vector<std::int32_t> leaf(n_trees * n);
    without_gil(
        [&] { find_forest_leaves(trees.view(), columns.features(), n_rows, n_threads, leaf); });
    return to_numpy(std::move(leaf), {n_trees, n});
}

NumpyMatrix average_forest_of(const PackedTrees& trees, const FeatureColumns& columns,
                              std::int64_t n_rows, Matrix<double> node_rows, int n_threads) {
    check_columns(trees, columns, n_rows);
    check_node_rows(trees, node_rows, "node_rows");
    const auto width = node_rows.shape(1);
    std::vector<double> out(static_cast<std::size_t>(n_rows) * width);
    without_gil([&] {
        average_forest(trees.view(), columns.features(), n_rows, node_rows,
                       static_cast<std::int64_t>(width), n_threads, out);
    });
    return to_matrix(std::move(out), n_rows, width);
}

auto contribute_forest_of(const PackedTrees& trees, const FeatureColumns& columns,
                          std::int64_t n_rows, Matrix<double> node_rows, int n_threads) {
    check_columns(trees, columns, n_rows);
    check_node_rows(trees, node_rows, "node_rows");
    const auto n = static_cast<std::size_t>(n_rows), width = node_rows.shape(1);
    std::vector<double> out(n * columns.size() * width);
    without_gil([&] {
        contribute_forest(trees.view(), columns.features(), n_rows, node_rows,
                          static_cast<std::int64_t>(width), n_threads, out);
    });
    return to_numpy(std::move(out), {n, columns.size(), width});
}

}  // namespace

void bind_forests(nb::module_& m) {
    auto trees = define_class(m, "PackedTrees", &make_packed_trees, "tree_start", "node_bytes");
    define_arrays(trees, "tree_start", &PackedTrees::tree_start);
    trees.def_prop_ro("node_bytes", &node_bytes);

    define(m, "grow_random_forest", &grow_random_forest_of, "columns", "outcome", "n_outcomes",
           "grow_weight", "count_weight", "share", "count_all", "min_samples_leaf", "max_depth",
           "max_features", "n_random_splits", "seeds", "n_threads");
    define(m, "smooth_forest", &smooth_forest_of, "trees", "counts", "strength", "n_threads");
    define(m, "sum_out_of_bag", &sum_out_of_bag_of, "trees", "counts", "leaf", "out", "outcome",
           "own", "some", "strengths", "all_outcomes", "n_threads");
    define(m, "sum_leaf_rows", &sum_leaf_rows_of, "trees", "node_rows", "leaf", "out", "outcome",
           "n_threads");
    define(m, "find_forest_leaves", &find_forest_leaves_of, "trees", "columns", "n_rows",
           "n_threads");
    define(m, "average_forest", &average_forest_of, "trees", "columns", "n_rows", "node_rows",
           "n_threads");
    define(m, "contribute_forest", &contribute_forest_of, "trees", "columns", "n_rows", "node_rows",
           "n_threads");
}

}  // namespace priorwise
