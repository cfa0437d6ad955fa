// Bindings of forests in flat arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/features.hpp"
#include "bind/forests.hpp"
#include "forests/forest.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

using Table = Matrix<double>;

std::span<const double> cells(const Table& table) {
    return {table.data(), table.size()};
}

// The arrays of a Python PackedForest, held for as long as a kernel reads them.
struct HeldForest {
    HeldForest(Vector<std::int64_t> starts, Vector<std::uint8_t> bytes)
        : tree_start(std::move(starts)),
          nodes(std::move(bytes)),
          view{priorwise::view(tree_start),
               {reinterpret_cast<const ForestNode*>(nodes.data()),
                nodes.shape(0) / sizeof(ForestNode)}} {
        require(tree_start.shape(0) >= 2 && view.tree_start.front() == 0 &&
                    view.tree_start.back() == static_cast<std::int64_t>(view.nodes.size()) &&
                    nodes.shape(0) % sizeof(ForestNode) == 0 &&
                    reinterpret_cast<std::uintptr_t>(nodes.data()) % alignof(ForestNode) == 0,
                "forest: its arrays do not fit together");
        for (std::int64_t t = 0; t < view.n_trees(); ++t) check(view.tree(t));
    }

    static void check(std::span<const ForestNode> tree) {
        const auto n_nodes = static_cast<std::int64_t>(tree.size());
        for (std::int64_t u = 0; u < n_nodes; ++u)
            if (tree[u].leaf() ? tree[u].first != u
                               : tree[u].first <= u || tree[u].first + 1 >= n_nodes)
                throw std::invalid_argument("forest: a node has no children where it should");
    }

    void check_features(std::size_t n_features) const {
        require(n_features > 0, "columns is empty");
        for (const auto& node : view.nodes)
            if (node.feature() < 0 || static_cast<std::size_t>(node.feature()) >= n_features)
                throw std::invalid_argument("no column for feature " +
                                            std::to_string(node.feature()));
    }

    void check_table(const Table& table, const char* name) const {
        require(table.shape(0) == view.nodes.size(),
                [&] { return std::string(name) + " needs one row per node"; });
    }

    Vector<std::int64_t> tree_start;
    Vector<std::uint8_t> nodes;
    ForestView view;
};

ForestRows forest_rows(const HeldForest& forest, const Matrix<std::int32_t>& leaf,
                       const Matrix<float>& out, const Vector<std::int32_t>& outcome,
                       std::int64_t n_outcomes) {
    const auto n_trees = static_cast<std::size_t>(forest.view.n_trees());
    const auto n_rows = outcome.shape(0);
    require(leaf.shape(0) == n_trees && out.shape(0) == n_trees && leaf.shape(1) == n_rows &&
                out.shape(1) == n_rows,
            "leaf, out and outcome differ in length");
    for (const auto k : view(outcome))
        if (k < 0 || k >= n_outcomes)
            throw std::invalid_argument("outcome must lie in 0..n_outcomes - 1");
    for (std::size_t t = 0; t < n_trees; ++t) {
        const auto size = forest.view.tree_start[t + 1] - forest.view.tree_start[t];
        for (std::size_t r = 0; r < n_rows; ++r)
            if (leaf.data()[t * n_rows + r] >= size)
                throw std::invalid_argument("leaf must be a node");
    }
    return {{leaf.data(), leaf.size()}, {out.data(), out.size()}, view(outcome)};
}

auto grow_random_forest_of(const nb::list& columns, Vector<std::int32_t> outcome,
                           std::int32_t n_outcomes, std::optional<Vector<double>> grow_weight,
                           std::optional<Vector<double>> count_weight, double share, bool count_all,
                           double min_samples_leaf, std::int32_t max_depth,
                           std::int32_t max_features, std::int32_t n_random_splits,
                           Vector<std::uint64_t> seeds, int n_threads) {
    const auto n_rows = outcome.shape(0);
    const HeldFeatures held(columns, static_cast<std::int64_t>(n_rows));
    const auto rows = growth_rows(held, outcome, n_outcomes, grow_weight, count_weight);
    require(seeds.shape(0) > 0, "seeds is empty");
    require(held.features.size() < 1U << (31 - ForestNode::kPlaces), "too many features");
    GrowthRules rules;
    rules.min_samples_leaf = min_samples_leaf;
    rules.max_depth = max_depth;
    rules.max_features = max_features;
    rules.n_random_splits = n_random_splits;
    GrownForest forest;
    {
        nb::gil_scoped_release release;
        check_training_codes(held.features, rows.n_rows);
        forest = grow_random_forest(rows, rules, share, count_all, view(seeds), n_threads);
    }
    const auto n_nodes = forest.nodes.size();
    return std::tuple(to_numpy(std::move(forest.tree_start)),
                      nodes_to_numpy(std::move(forest.nodes)), to_numpy(std::move(forest.gain)),
                      to_numpy(std::move(forest.counts), n_nodes), to_numpy(std::move(forest.leaf)),
                      to_numpy(std::move(forest.out)));
}

NumpyMatrix smooth_forest_of(Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes,
                             Table counts, double strength, int n_threads) {
    const HeldForest forest(tree_start, nodes);
    forest.check_table(counts, "counts");
    require(strength > 0.0, "strength must be above 0");
    std::vector<double> proba(counts.size());
    {
        nb::gil_scoped_release release;
        smooth_forest(forest.view, cells(counts), strength, n_threads, proba);
    }
    return to_numpy(std::move(proba), counts.shape(0));
}

// With one strength: the probabilities of all outcomes; with more: of the outcome of each row.
std::pair<NumpyMatrix, NumpyVector<double>> sum_out_of_bag_of(
    Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes, Table counts,
    Matrix<std::int32_t> leaf, Matrix<float> out, Vector<std::int32_t> outcome, Vector<double> own,
    Vector<std::int64_t> some, Vector<double> strengths, bool all_outcomes, int n_threads) {
    const HeldForest forest(tree_start, nodes);
    forest.check_table(counts, "counts");
    const auto n_outcomes = static_cast<std::int64_t>(counts.shape(1));
    const auto rows = forest_rows(forest, leaf, out, outcome, n_outcomes);
    require(own.shape(0) == outcome.shape(0), "own needs one number per row");
    require(strengths.shape(0) >= 1 && strengths.shape(0) <= (all_outcomes ? 1 : kMaxStrengths),
            [&] {
                return "strengths must be 1 to " + std::to_string(all_outcomes ? 1 : kMaxStrengths);
            });
    for (const auto c : view(strengths)) require(c > 0.0, "strengths must be above 0");
    for (const auto row : view(some))
        if (row < 0 || row >= rows.n_rows()) throw std::invalid_argument("some must be rows");
    const auto n_some = some.shape(0);
    const auto width = all_outcomes ? counts.shape(1) : strengths.shape(0);
    std::vector<double> total(n_some * width), weight(n_some);
    const OutOfBag data{forest.view, cells(counts), static_cast<std::int32_t>(n_outcomes),
                        rows,        view(own),     view(some)};
    {
        nb::gil_scoped_release release;
        if (all_outcomes)
            sum_out_of_bag(data, strengths.data()[0], n_threads, total, weight);
        else
            sum_outcome_proba(data, view(strengths), n_threads, total, weight);
    }
    return {to_numpy(std::move(total), n_some), to_numpy(std::move(weight))};
}

std::pair<NumpyMatrix, NumpyVector<double>> sum_leaf_rows_of(
    Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes, Table proba,
    Matrix<std::int32_t> leaf, Matrix<float> out, Vector<std::int32_t> outcome, int n_threads) {
    const HeldForest forest(tree_start, nodes);
    forest.check_table(proba, "proba");
    const auto n_outcomes = static_cast<std::int64_t>(proba.shape(1));
    const auto rows = forest_rows(forest, leaf, out, outcome, n_outcomes);
    const auto n_rows = outcome.shape(0);
    std::vector<double> total(n_rows * proba.shape(1)), weight(n_rows);
    {
        nb::gil_scoped_release release;
        sum_leaf_rows(forest.view, rows, cells(proba), n_threads, total, weight);
    }
    return {to_numpy(std::move(total), n_rows), to_numpy(std::move(weight))};
}

NumpyVector<std::int32_t> find_forest_leaves_of(Vector<std::int64_t> tree_start,
                                                Vector<std::uint8_t> nodes, const nb::list& columns,
                                                std::int64_t n_rows, int n_threads) {
    const HeldFeatures held(columns, n_rows);
    const HeldForest forest(tree_start, nodes);
    forest.check_features(held.features.size());
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(forest.view.n_trees() * n_rows));
    {
        nb::gil_scoped_release release;
        find_forest_leaves(forest.view, held.features, n_rows, n_threads, leaf);
    }
    return to_numpy(std::move(leaf));
}

NumpyMatrix average_forest_of(Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes,
                              const nb::list& columns, std::int64_t n_rows, Table proba,
                              int n_threads) {
    const HeldFeatures held(columns, n_rows);
    const HeldForest forest(tree_start, nodes);
    forest.check_features(held.features.size());
    forest.check_table(proba, "proba");
    std::vector<double> out(static_cast<std::size_t>(n_rows) * proba.shape(1));
    {
        nb::gil_scoped_release release;
        average_forest(forest.view, held.features, n_rows, cells(proba),
                       static_cast<std::int64_t>(proba.shape(1)), n_threads, out);
    }
    return to_numpy(std::move(out), static_cast<std::size_t>(n_rows));
}

NumpyMatrix contribute_forest_of(Vector<std::int64_t> tree_start, Vector<std::uint8_t> nodes,
                                 const nb::list& columns, std::int64_t n_rows, Table proba,
                                 int n_threads) {
    const HeldFeatures held(columns, n_rows);
    const HeldForest forest(tree_start, nodes);
    forest.check_features(held.features.size());
    forest.check_table(proba, "proba");
    std::vector<double> out(static_cast<std::size_t>(n_rows) * held.features.size() *
                            proba.shape(1));
    {
        nb::gil_scoped_release release;
        contribute_forest(forest.view, held.features, n_rows, cells(proba),
                          static_cast<std::int64_t>(proba.shape(1)), n_threads, out);
    }
    return to_numpy(std::move(out), static_cast<std::size_t>(n_rows));
}

}  // namespace

void bind_forests(nb::module_& m) {
    m.def("grow_random_forest", &grow_random_forest_of, "columns"_a, "outcome"_a, "n_outcomes"_a,
          "grow_weight"_a.none(), "count_weight"_a.none(), "share"_a, "count_all"_a,
          "min_samples_leaf"_a, "max_depth"_a, "max_features"_a, "n_random_splits"_a, "seeds"_a,
          "n_threads"_a);
    m.def("smooth_forest", &smooth_forest_of, "tree_start"_a, "nodes"_a, "counts"_a, "strength"_a,
          "n_threads"_a);
    m.def("sum_out_of_bag", &sum_out_of_bag_of, "tree_start"_a, "nodes"_a, "counts"_a, "leaf"_a,
          "out"_a, "outcome"_a, "own"_a, "some"_a, "strengths"_a, "all_outcomes"_a, "n_threads"_a);
    m.def("sum_leaf_rows", &sum_leaf_rows_of, "tree_start"_a, "nodes"_a, "proba"_a, "leaf"_a,
          "out"_a, "outcome"_a, "n_threads"_a);
    m.def("find_forest_leaves", &find_forest_leaves_of, "tree_start"_a, "nodes"_a, "columns"_a,
          "n_rows"_a, "n_threads"_a);
    m.def("average_forest", &average_forest_of, "tree_start"_a, "nodes"_a, "columns"_a, "n_rows"_a,
          "proba"_a, "n_threads"_a);
    m.def("contribute_forest", &contribute_forest_of, "tree_start"_a, "nodes"_a, "columns"_a,
          "n_rows"_a, "proba"_a, "n_threads"_a);
}

}  // namespace priorwise
