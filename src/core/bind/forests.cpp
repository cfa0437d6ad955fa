// Bindings of the kernels of src/core/forests.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/features.hpp"
#include "forests/forest.hpp"
#include "forests/sparse_rows.hpp"

namespace priorwise {
namespace {

PackedTrees make_packed_trees(Numbers<std::int64_t> tree_start, Numbers<std::int32_t> split,
                              Numbers<double> threshold, Numbers<double> leaf_weight) {
    PackedTrees trees(copy(tree_start), split.size(), split.reader(), threshold.reader(),
                      leaf_weight.reader());
    require(threshold.size() == (split.size() - trees.n_trees()) / 2 &&
                leaf_weight.size() == threshold.size() + trees.n_trees(),
            "not packed trees: every split must have a threshold and every leaf a weight");
    if (!split.is_narrow()) trees.link();  // what is no part of a file is not kept beside the nodes
    return trees;
}

NumpyVector<std::int32_t> copy_splits(const PackedTrees& trees) {
    const auto nodes = trees.view().nodes;
    std::vector<std::int32_t> splits(nodes.size());
    std::ranges::transform(nodes, splits.begin(), &ForestNode::split);
    return to_numpy(std::move(splits));
}

// The thresholds of the nodes that split, or the weights of the leaves.
template <bool kLeaf>
NumpyVector<double> copy_thresholds(const PackedTrees& trees) {
    std::vector<double> numbers;
    numbers.reserve((trees.n_nodes() + trees.n_trees()) / 2);
    for (const auto& node : trees.view().nodes)
        if (node.leaf() == kLeaf) numbers.push_back(node.threshold);
    return to_numpy(std::move(numbers));
}

// The nodes as bytes that may not be written to.
nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> node_bytes(const PackedTrees& trees) {
    const auto nodes = trees.view().nodes;
    return {reinterpret_cast<const std::uint8_t*>(nodes.data()), {nodes.size_bytes()}};
}

void check_node_rows(const PackedTrees& trees, const Matrix<float>& rows) {
    require(trees.n_nodes() > 0, "trees is empty");
    check_size(rows.shape(0), trees.n_nodes(), "node_rows", "node");
    check_range(rows.shape(1), 1, 1 << 30, "node_rows");
}

struct SparseNodeRows {
    std::shared_ptr<const PackedTrees> trees;
    SparseRows rows;
};

SparseNodeRows make_sparse_node_rows(std::shared_ptr<const PackedTrees> trees, std::int32_t width,
                                     double strength, Vector<std::int32_t> below,
                                     Vector<std::uint16_t> outcome, Vector<std::int64_t> kept_node,
                                     Vector<float> kept_row) {
    check_range(width, 1, 1 << 16, "width");
    check_positive(strength, "strength");
    SparseNodeRows made{
        std::move(trees),
        {width, strength, copy(below), copy(outcome), copy(kept_node), copy(kept_row), {}, {}}};
    validate(made.rows, made.trees->view());
    return made;
}

// Dense rows, or sparse ones of the same trees.
using GivenRows = std::variant<Matrix<float>, const SparseNodeRows*>;

NodeRows check_node_rows(const PackedTrees& trees, const GivenRows& given) {
    if (const auto* rows = std::get_if<Matrix<float>>(&given)) {
        check_node_rows(trees, *rows);
        return {*rows, nullptr, static_cast<std::int64_t>(rows->shape(1))};
    }
    const auto& sparse = *std::get<const SparseNodeRows*>(given);
    require(sparse.trees.get() == &trees, "node_rows must be those of trees");
    require(trees.n_nodes() > 0, "trees is empty");
    return {{}, &sparse.rows, sparse.rows.width};
}

ForestRows check_forest_rows(const PackedTrees& trees, const Matrix<std::int32_t>& leaf,
                             const Matrix<std::uint8_t>& out, std::span<const std::int32_t> outcome,
                             std::int32_t n_outcomes = 1, const Weight& weight = {},
                             bool count_all = false) {
    const auto n_trees = trees.n_trees();
    const auto n_rows = outcome.size();
    require(trees.n_nodes() > 0, "trees is empty");
    check_at_least(n_outcomes, 1, "n_outcomes");
    require(leaf.shape(0) == n_trees && leaf.shape(1) == n_rows,
            "leaf needs one entry per tree and row");
    require(out.shape(0) == n_trees && out.shape(1) == n_rows,
            "out needs one entry per tree and row");
    require_memory(8.0 * n_outcomes * static_cast<double>(trees.n_nodes()),
                   trees.n_nodes() + leaf.size(), "n_outcomes", n_outcomes);
    check_codes(outcome, n_outcomes, "outcome");
    check_weights(weight, n_rows, "weight");
    for (std::size_t t = 0; t < n_trees; ++t)
        check_codes({leaf.data() + t * n_rows, n_rows},
                    trees.tree_start()[t + 1] - trees.tree_start()[t], "leaf",
                    static_cast<std::int64_t>(t), -1);
    return {leaf, out, outcome, n_outcomes, data_or_null(weight), count_all};
}

auto grow_random_forest_of(const FeatureColumns& columns, Vector<std::int32_t> outcome,
                           std::int32_t n_outcomes, Weight grow_weight, Weight count_weight,
                           double share, double min_samples_leaf, std::int32_t max_depth,
                           std::int32_t max_features, std::int32_t n_random_splits,
                           Vector<std::uint64_t> seeds, Vector<std::int32_t> monotone,
                           std::optional<Vector<std::int32_t>> group, int n_threads) {
    const auto n_rows = outcome.size();
    columns.check_rows(static_cast<std::int64_t>(n_rows));
    check_range(columns.size(), 0, kMaxForestFeatures - 1, "the number of columns");
    auto rules = check_random_rules(min_samples_leaf, max_depth, max_features, n_random_splits, 0);
    check_monotone(columns.features(), monotone, n_outcomes);
    rules.monotone = monotone;
    require(share >= 0.0 && share <= 1.0, "share must lie in 0..1");
    require(seeds.size() > 0, "seeds is empty");
    auto forest = without_gil([&] {
        auto rows =
            check_growth_rows(columns.features(), outcome, n_outcomes, grow_weight, count_weight);
        columns.check_training_codes();
        if (group) {
            check_size(group->size(), n_rows, "group", "row");
            check_codes(*group, static_cast<std::int64_t>(n_rows), "group");
            rows.group = view(*group);
        }
        return grow_random_forest(rows, rules, share, seeds, n_threads);
    });
    return std::tuple(to_numpy(std::move(forest.tree_start)), to_bytes(std::move(forest.nodes)),
                      to_numpy(std::move(forest.gain)),
                      to_numpy(std::move(forest.leaf), {seeds.size(), n_rows}),
                      to_numpy(std::move(forest.out), {seeds.size(), n_rows}));
}

NumpyMatrix count_forest_of(const PackedTrees& trees, Matrix<std::int32_t> leaf,
                            Matrix<std::uint8_t> out, Vector<std::int32_t> outcome,
                            std::int32_t n_outcomes, Weight weight, bool count_all, int n_threads) {
    const auto rows = check_forest_rows(trees, leaf, out, outcome, n_outcomes, weight, count_all);
    const auto n_nodes = trees.n_nodes(), width = static_cast<std::size_t>(n_outcomes);
    std::vector<double> counts(n_nodes * width);
    without_gil([&] { count_forest(trees.view(), rows, n_threads, counts); });
    return to_numpy(std::move(counts), {n_nodes, width});
}

auto smooth_forest_of(const PackedTrees& trees, Matrix<std::int32_t> leaf, Matrix<std::uint8_t> out,
                      Vector<std::int32_t> outcome, std::int32_t n_outcomes, Weight weight,
                      bool count_all, double strength, int n_threads) {
    const auto rows = check_forest_rows(trees, leaf, out, outcome, n_outcomes, weight, count_all);
    check_positive(strength, "strength");
    const auto n_nodes = trees.n_nodes(), width = static_cast<std::size_t>(n_outcomes);
    std::vector<float> proba(n_nodes * width);
    without_gil([&] { smooth_forest(trees.view(), rows, strength, n_threads, proba); });
    return to_numpy(std::move(proba), {n_nodes, width});
}

// None if sparse rows would not take much less memory than dense ones.
nb::object find_sparse_rows(std::shared_ptr<const PackedTrees> trees, Matrix<std::int32_t> leaf,
                            Matrix<std::uint8_t> out, Vector<std::int32_t> outcome,
                            std::int32_t n_outcomes, bool count_all, double strength) {
    const auto rows = check_forest_rows(*trees, leaf, out, outcome, n_outcomes, {}, count_all);
    check_positive(strength, "strength");
    std::optional<SparseRows> made;
    without_gil([&] { made = make_sparse_rows(trees->view(), rows, strength); });
    if (!made) return nb::none();
    return nb::cast(SparseNodeRows{std::move(trees), std::move(*made)});
}

auto expand_sparse_rows(const SparseNodeRows& rows) {
    const auto forest = rows.trees->view();
    const auto n_nodes = forest.nodes.size(), width = static_cast<std::size_t>(rows.rows.width);
    require_memory(4.0 * static_cast<double>(n_nodes * width), n_nodes, "width", width);
    std::vector<float> proba;
    proba.reserve(n_nodes * width);
    without_gil([&] {
        TreeRows one(forest, rows.rows);
        for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
            const auto* filled = one.fill(t);
            proba.insert(proba.end(), filled, filled + forest.tree(t).size() * width);
        }
    });
    return to_numpy(std::move(proba), {n_nodes, width});
}

auto prune_forest_of(const PackedTrees& trees, Vector<double> weight, double least) {
    check_size(weight.size(), trees.n_nodes(), "weight", "node");
    require(!std::isnan(least), "least must not be NaN");
    PrunedForest pruned;
    without_gil([&] { pruned = prune_forest(trees.view(), weight, least); });
    return std::tuple(to_numpy(std::move(pruned.tree_start)), to_bytes(std::move(pruned.nodes)),
                      to_numpy(std::move(pruned.number)));
}

// Without `leasts` the probabilities of all outcomes with the first strength, else those of the
// outcome of each row with every strength and every least weight of a node that splits.
std::pair<NumpyMatrix, NumpyVector<double>> sum_out_of_bag_of(
    const PackedTrees& trees, Matrix<std::int32_t> leaf, Matrix<std::uint8_t> out,
    Vector<std::int32_t> outcome, std::int32_t n_outcomes, Weight weight, bool count_all,
    Vector<double> own, Vector<std::int64_t> some, Vector<double> strengths, Vector<double> leasts,
    int n_threads) {
    const auto rows = check_forest_rows(trees, leaf, out, outcome, n_outcomes, weight, count_all);
    check_size(own.size(), outcome.size(), "own", "row");
    check_range(strengths.size(), 1, kMaxStrengths, "the number of strengths");
    check_range(leasts.size(), 0, kMaxLeasts, "the number of leasts");
    for (const auto c : strengths) check_positive(c, "strengths");
    for (const auto row : some) check_column(row, outcome.size(), "some");
    require(std::ranges::is_sorted(view(leasts)), "leasts must rise");
    const auto n_some = some.size();
    const auto width = leasts.size() == 0 ? static_cast<std::size_t>(n_outcomes)
                                          : leasts.size() * strengths.size();
    require_memory(8.0 * static_cast<double>(n_some) * static_cast<double>(width),
                   n_some + leaf.size(), "n_outcomes", n_outcomes);
    std::vector<double> total(n_some * width), n_trees(n_some);
    without_gil([&] {
        const auto forest = trees.view();
        const OutOfBag data{forest, rows, own, some};
        if (leasts.size() == 0)
            sum_out_of_bag(data, strengths[0], n_threads, total, n_trees);
        else
            sum_outcome_proba(data, strengths, leasts, n_threads, total, n_trees);
    });
    return {to_numpy(std::move(total), {n_some, width}), to_numpy(std::move(n_trees))};
}

std::pair<NumpyMatrix, NumpyVector<double>> sum_leaf_rows_of(const PackedTrees& trees,
                                                             Matrix<float> node_rows,
                                                             Matrix<std::int32_t> leaf,
                                                             Matrix<std::uint8_t> out,
                                                             int n_threads) {
    check_node_rows(trees, node_rows);
    const auto n_rows = leaf.shape(1), width = node_rows.shape(1);
    const std::vector<std::int32_t> outcome(n_rows);
    std::vector<double> total(n_rows * width), n_trees(n_rows);
    const auto rows = check_forest_rows(trees, leaf, out, outcome);
    without_gil([&] { sum_leaf_rows(trees.view(), rows, node_rows, n_threads, total, n_trees); });
    return {to_numpy(std::move(total), {n_rows, width}), to_numpy(std::move(n_trees))};
}

void check_columns(const PackedTrees& trees, const FeatureColumns& columns, std::int64_t n_rows) {
    columns.check_rows(n_rows);
    check_at_least(columns.size(), trees.n_features(), "the number of columns");
}

NumpyMatrix to_matrix(std::vector<double>&& values, std::int64_t n_rows, std::size_t width) {
    return to_numpy(std::move(values), {static_cast<std::size_t>(n_rows), width});
}

auto find_forest_leaves_of(const PackedTrees& trees, const FeatureColumns& columns,
                           std::int64_t n_rows, int n_threads) {
    check_columns(trees, columns, n_rows);
    const auto n_trees = trees.n_trees(), n = static_cast<std::size_t>(n_rows);
    std::vector<std::int32_t> leaf(n_trees * n);
    without_gil(
        [&] { find_forest_leaves(trees.view(), columns.features(), n_rows, n_threads, leaf); });
    return to_numpy(std::move(leaf), {n_trees, n});
}

NumpyMatrix average_forest_of(const PackedTrees& trees, const FeatureColumns& columns,
                              std::int64_t n_rows, GivenRows given, int n_threads) {
    check_columns(trees, columns, n_rows);
    const auto node_rows = check_node_rows(trees, given);
    const auto width = static_cast<std::size_t>(node_rows.width);
    std::vector<double> out(static_cast<std::size_t>(n_rows) * width);
    without_gil([&] {
        average_forest(trees.view(), columns.features(), n_rows, node_rows, n_threads, out);
    });
    return to_matrix(std::move(out), n_rows, width);
}

auto contribute_forest_of(const PackedTrees& trees, const FeatureColumns& columns,
                          std::int64_t n_rows, GivenRows given, int n_threads) {
    check_columns(trees, columns, n_rows);
    const auto node_rows = check_node_rows(trees, given);
    const auto n = static_cast<std::size_t>(n_rows),
               width = static_cast<std::size_t>(node_rows.width);
    std::vector<double> out(n * columns.size() * width);
    without_gil([&] {
        contribute_forest(trees.view(), columns.features(), n_rows, node_rows, n_threads, out);
    });
    return to_numpy(std::move(out), {n, columns.size(), width});
}

}  // namespace

void bind_forests(nb::module_& m) {
    auto trees = define_class(m, "PackedTrees", &make_packed_trees, "tree_start", "split",
                              "threshold", "leaf_weight");
    trees.def_prop_ro("tree_start", [](const PackedTrees& t) { return read_only(t.tree_start()); });
    const auto copied = nb::rv_policy::automatic;
    trees.def_prop_ro("split", &copy_splits, copied);
    trees.def_prop_ro("threshold", &copy_thresholds<false>, copied);
    trees.def_prop_ro("leaf_weight", &copy_thresholds<true>, copied);
    trees.def_prop_ro("node_bytes", &node_bytes);
    trees.def_prop_ro("n_features", &PackedTrees::n_features);
    trees.def_prop_ro("n_nodes", &PackedTrees::n_nodes);

    auto sparse = define_class(m, "SparseNodeRows", &make_sparse_node_rows, "trees", "width",
                               "strength", "below", "outcome", "kept_node", "kept_row");
    sparse.def_ro("trees", &SparseNodeRows::trees);
    sparse.def_prop_ro("width", [](const SparseNodeRows& r) { return r.rows.width; });
    sparse.def_prop_ro("strength", [](const SparseNodeRows& r) { return r.rows.strength; });
    const auto define_part = [&]<class T>(const char* name, std::vector<T> SparseRows::* part) {
        sparse.def_prop_ro(name,
                           [part](const SparseNodeRows& r) { return read_only(r.rows.*part); });
    };
    define_part("below", &SparseRows::below);
    define_part("outcome", &SparseRows::outcome);
    define_part("kept_node", &SparseRows::kept_node);
    define_part("kept_row", &SparseRows::kept_row);
    define(m, "find_sparse_rows", &find_sparse_rows, "trees", "leaf", "out", "outcome",
           "n_outcomes", "count_all", "strength");
    define(m, "expand_sparse_rows", &expand_sparse_rows, "rows");

    define(m, "grow_random_forest", &grow_random_forest_of, "columns", "outcome", "n_outcomes",
           "grow_weight", "count_weight", "share", "min_samples_leaf", "max_depth", "max_features",
           "n_random_splits", "seeds", "monotone", "group", "n_threads");
    define(m, "count_forest", &count_forest_of, "trees", "leaf", "out", "outcome", "n_outcomes",
           "weight", "count_all", "n_threads");
    define(m, "smooth_forest", &smooth_forest_of, "trees", "leaf", "out", "outcome", "n_outcomes",
           "weight", "count_all", "strength", "n_threads");
    define(m, "prune_forest", &prune_forest_of, "trees", "weight", "least");
    define(m, "sum_out_of_bag", &sum_out_of_bag_of, "trees", "leaf", "out", "outcome", "n_outcomes",
           "weight", "count_all", "own", "some", "strengths", "leasts", "n_threads");
    define(m, "sum_leaf_rows", &sum_leaf_rows_of, "trees", "node_rows", "leaf", "out", "n_threads");
    define(m, "find_forest_leaves", &find_forest_leaves_of, "trees", "columns", "n_rows",
           "n_threads");
    define(m, "average_forest", &average_forest_of, "trees", "columns", "n_rows", "node_rows",
           "n_threads");
    define(m, "contribute_forest", &contribute_forest_of, "trees", "columns", "n_rows", "node_rows",
           "n_threads");
}

}  // namespace priorwise
