// Bindings of tree growth.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/features.hpp"
#include "trees/leaf_counts.hpp"
#include "trees/route.hpp"
#include "trees/splits.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

using Ints = NumpyVector<std::int32_t>;
using Longs = NumpyVector<std::int64_t>;
using Floats = NumpyVector<double>;

std::pair<Ints, Ints> sort_features_of(const nb::list& columns, std::int64_t n_rows,
                                       int n_threads) {
    const HeldFeatures held(columns, n_rows);
    require(n_rows < kMissingRank, "too many rows");
    const auto n_entries = held.features.size() * static_cast<std::size_t>(n_rows);
    std::vector<std::int32_t> row(n_entries), rank(n_entries);
    {
        nb::gil_scoped_release release;
        check_training_codes(held.features, n_rows);
        sort_features(held.features, n_rows, n_threads, row, rank);
    }
    return {to_numpy(std::move(row)), to_numpy(std::move(rank))};
}

Criterion criterion_named(const std::string& name) {
    require(name == "gain-ratio" || name == "gain",
            [&] { return "criterion must be 'gain-ratio' or 'gain', got " + name; });
    return name == "gain" ? Criterion::kGain : Criterion::kGainRatio;
}

auto to_python(GrownTree&& tree) {
    return std::tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.value)),
                      to_numpy(std::move(tree.level_start)), to_numpy(std::move(tree.feature)),
                      to_numpy(std::move(tree.kind)), to_numpy(std::move(tree.threshold)),
                      to_numpy(std::move(tree.missing_value)), to_numpy(std::move(tree.gain)),
                      to_numpy(std::move(tree.leaf_of_row)));
}

auto grow_best_tree_of(const nb::list& columns, Vector<std::int32_t> sorted_row,
                       Vector<std::int32_t> sorted_rank, Vector<std::int32_t> outcome,
                       std::int32_t n_outcomes, std::optional<Vector<double>> grow_weight,
                       std::optional<Vector<double>> count_weight, const std::string& criterion,
                       double min_samples_leaf, double numeric_min_share, bool binary_codes,
                       bool mdl_correction, std::int32_t max_depth, std::int32_t max_features,
                       std::uint64_t seed, int n_threads) {
    const HeldFeatures held(columns, static_cast<std::int64_t>(outcome.shape(0)));
    const auto rows = growth_rows(held, outcome, n_outcomes, grow_weight, count_weight);
    const auto n_entries = held.features.size() * outcome.shape(0);
    require(sorted_row.shape(0) == n_entries && sorted_rank.shape(0) == n_entries,
            "sorted features and columns do not fit together");
    const SortedFeatures sorted{view(sorted_row), view(sorted_rank)};
    const GrowthRules rules{criterion_named(criterion),
                            min_samples_leaf,
                            numeric_min_share,
                            binary_codes,
                            mdl_correction,
                            max_depth,
                            max_features,
                            0,
                            seed};
    GrownTree tree;
    {
        nb::gil_scoped_release release;
        tree = grow_best_tree(rows, sorted, rules, n_threads);
    }
    return to_python(std::move(tree));
}

auto grow_random_tree_of(const nb::list& columns, Vector<std::int32_t> outcome,
                         std::int32_t n_outcomes, std::optional<Vector<double>> grow_weight,
                         std::optional<Vector<double>> count_weight, double min_samples_leaf,
                         std::int32_t max_depth, std::int32_t max_features,
                         std::int32_t n_random_splits, std::uint64_t seed) {
    const HeldFeatures held(columns, static_cast<std::int64_t>(outcome.shape(0)));
    const auto rows = growth_rows(held, outcome, n_outcomes, grow_weight, count_weight);
    GrowthRules rules;
    rules.min_samples_leaf = min_samples_leaf;
    rules.max_depth = max_depth;
    rules.max_features = max_features;
    rules.n_random_splits = n_random_splits;
    rules.seed = seed;
    GrownTree tree;
    {
        nb::gil_scoped_release release;
        check_training_codes(held.features, rows.n_rows);
        tree = grow_random_tree(rows, rules);
    }
    return to_python(std::move(tree));
}

auto count_leaves_of(Vector<std::int32_t> parent, Vector<std::int32_t> leaf,
                     Vector<std::int32_t> outcome, std::optional<Vector<double>> weight,
                     std::int32_t n_outcomes, bool dense) {
    require(leaf.shape(0) == outcome.shape(0), "leaf and outcome differ in length");
    require(!weight || weight->shape(0) == leaf.shape(0), "weight and leaf differ in length");
    CountTree tree;
    {
        nb::gil_scoped_release release;
        const auto n_nodes = static_cast<std::int32_t>(parent.shape(0));
        for (const auto node : view(leaf)) require(node < n_nodes, "leaf must be a node");
        for (const auto k : view(outcome))
            require(k >= 0 && k < n_outcomes, "outcome must lie in 0..n_outcomes - 1");
        tree.parent.assign(parent.data(), parent.data() + n_nodes);
        count_leaves({view(leaf), view(outcome), weight ? weight->data() : nullptr, n_outcomes},
                     dense, tree);
    }
    return std::tuple(to_numpy(std::move(tree.row_start)), to_numpy(std::move(tree.outcome)),
                      to_numpy(std::move(tree.parent_cell)), to_numpy(std::move(tree.counts)));
}

// The arrays of a Python DecisionTree, held for as long as a kernel reads them.
struct HeldSplits {
    HeldSplits(nb::handle tree, const HeldFeatures& columns)
        : value(nb::cast<Vector<std::int32_t>>(tree.attr("counts").attr("value"))),
          child_start(nb::cast<Vector<std::int32_t>>(tree.attr("counts").attr("child_start"))),
          feature(nb::cast<Vector<std::int32_t>>(tree.attr("feature"))),
          missing_value(nb::cast<Vector<std::int32_t>>(tree.attr("missing_value"))),
          kind(nb::cast<Vector<std::uint8_t>>(tree.attr("kind"))),
          threshold(nb::cast<Vector<double>>(tree.attr("threshold"))),
          view{priorwise::view(value),     priorwise::view(child_start),
               priorwise::view(feature),   priorwise::view(kind),
               priorwise::view(threshold), priorwise::view(missing_value)} {
        const auto n_nodes = view.value.size();
        require(view.child_start.size() == n_nodes + 1 && view.feature.size() == n_nodes &&
                    view.kind.size() == n_nodes && view.threshold.size() == n_nodes &&
                    view.missing_value.size() == n_nodes,
                "tree: its arrays do not fit together");
        for (std::size_t node = 0; node < n_nodes; ++node) {
            const auto f = view.feature[node];
            const auto split = static_cast<SplitKind>(view.kind[node]);
            if (split == SplitKind::kLeaf) continue;
            require(f >= 0 && static_cast<std::size_t>(f) < columns.features.size(),
                    [&] { return "no column for feature " + std::to_string(f); });
            require(columns.features[f].nominal() == (split != SplitKind::kNumeric), [&] {
                return "column " + std::to_string(f) + " is not of the kind the tree splits";
            });
        }
    }
    Vector<std::int32_t> value, child_start, feature, missing_value;
    Vector<std::uint8_t> kind;
    Vector<double> threshold;
    TreeSplits view;
};

Ints find_leaves_of(nb::handle tree, const nb::list& columns, std::int64_t n_rows, int n_threads) {
    const HeldFeatures held(columns, n_rows);
    const HeldSplits splits(tree, held);
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(n_rows));
    {
        nb::gil_scoped_release release;
        find_leaves(splits.view, held.features, n_rows, n_threads, leaf);
    }
    return to_numpy(std::move(leaf));
}

NumpyMatrix blend_rows_of(
    nb::handle tree, Vector<double> bandwidth, const nb::list& columns, std::int64_t n_rows,
    nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows, int n_threads) {
    const HeldFeatures held(columns, n_rows);
    const HeldSplits splits(tree, held);
    require(
        bandwidth.shape(0) == splits.view.value.size() && rows.shape(0) == splits.view.value.size(),
        "bandwidth and node_rows need one entry per node");
    std::vector<double> out(static_cast<std::size_t>(n_rows) * rows.shape(1));
    {
        nb::gil_scoped_release release;
        blend_rows(splits.view, view(bandwidth), held.features, n_rows, {rows.data(), rows.size()},
                   n_threads, out);
    }
    return to_numpy(std::move(out), static_cast<std::size_t>(n_rows));
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("sort_features", &sort_features_of, "columns"_a, "n_rows"_a, "n_threads"_a);
    m.def("grow_best_tree", &grow_best_tree_of, "columns"_a, "sorted_row"_a, "sorted_rank"_a,
          "outcome"_a, "n_outcomes"_a, "grow_weight"_a.none(), "count_weight"_a.none(),
          "criterion"_a, "min_samples_leaf"_a, "numeric_min_share"_a, "binary_codes"_a,
          "mdl_correction"_a, "max_depth"_a, "max_features"_a, "seed"_a, "n_threads"_a);
    m.def("grow_random_tree", &grow_random_tree_of, "columns"_a, "outcome"_a, "n_outcomes"_a,
          "grow_weight"_a.none(), "count_weight"_a.none(), "min_samples_leaf"_a, "max_depth"_a,
          "max_features"_a, "n_random_splits"_a, "seed"_a);
    m.def("count_leaves", &count_leaves_of, "parent"_a, "leaf"_a, "outcome"_a, "weight"_a.none(),
          "n_outcomes"_a, "dense"_a);
    m.def("find_leaves", &find_leaves_of, "tree"_a, "columns"_a, "n_rows"_a, "n_threads"_a);
    m.def("blend_rows", &blend_rows_of, "tree"_a, "bandwidth"_a, "columns"_a, "n_rows"_a,
          "node_rows"_a, "n_threads"_a);
}

}  // namespace priorwise
