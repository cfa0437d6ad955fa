// Bindings of the kernels of src/core/trees, and of single random trees.
#include "bind/shared/define.hpp"
#include "bind/shared/features.hpp"
#include "counts/count_tree.hpp"
#include "forests/forest.hpp"
#include "trees/splits.hpp"

namespace priorwise {
namespace {

// Columns of training rows, and the order of the rows by each.
struct SortedColumns {
    FeatureColumns columns;
    std::int64_t n_rows;
    std::vector<std::int32_t> row, rank;
};

SortedColumns make_sorted_columns(FeatureColumns columns, std::int64_t n_rows, int n_threads) {
    columns.check_rows(n_rows);
    const auto n_entries = columns.size() * static_cast<std::size_t>(n_rows);
    SortedColumns sorted{std::move(columns), n_rows, std::vector<std::int32_t>(n_entries),
                         std::vector<std::int32_t>(n_entries)};
    const GilRelease release;
    sorted.columns.check_training_codes();
    sort_features(sorted.columns.features(), n_rows, n_threads, sorted.row, sorted.rank);
    return sorted;
}

auto to_python(GrownTree&& tree) {
    return std::tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.value)),
                      to_numpy(std::move(tree.level_start)), to_numpy(std::move(tree.feature)),
                      to_numpy(std::move(tree.kind)), to_numpy(std::move(tree.threshold)),
                      to_numpy(std::move(tree.missing_value)), to_numpy(std::move(tree.gain)),
                      to_numpy(std::move(tree.leaf_of_row)));
}

auto grow_best_tree_of(const SortedColumns& table, Vector<std::int32_t> outcome,
                       std::int32_t n_outcomes, Weight grow_weight, Weight count_weight,
                       const std::string& criterion, double min_samples_leaf,
                       double numeric_min_share, bool binary_codes, bool mdl_correction,
                       std::int32_t max_depth, std::int32_t max_features,
                       Vector<std::int32_t> n_values, Vector<std::int32_t> monotone,
                       std::uint64_t seed, int n_threads) {
    const auto kind = choose<Criterion>("criterion", criterion,
                                        {{"gain-ratio", Criterion::kGainRatio},
                                         {"gain", Criterion::kGain},
                                         {"release-8", Criterion::kRelease8}});
    check_not_negative(min_samples_leaf, "min_samples_leaf");
    check_not_negative(numeric_min_share, "numeric_min_share");
    check_at_least(max_depth, 0, "max_depth");
    check_at_least(max_features, 0, "max_features");
    check_size(outcome.size(), static_cast<std::size_t>(table.n_rows), "outcome", "row");
    if (n_values.size() > 0)
        check_size(n_values.size(), table.columns.size(), "n_values", "feature");
    check_monotone(table.columns.features(), monotone, n_outcomes);
    const GrowthRules rules{kind,           min_samples_leaf, numeric_min_share, binary_codes,
                            mdl_correction, max_depth,        max_features,      0,
                            seed,           n_values,         monotone};
    auto tree = without_gil([&] {
        const auto rows = check_growth_rows(table.columns.features(), outcome, n_outcomes,
                                            grow_weight, count_weight);
        return grow_best_tree(rows, {table.row, table.rank}, rules, n_threads);
    });
    return to_python(std::move(tree));
}

nb::object count_leaves_of(const nb::type_object& tree_class, Vector<std::int32_t> parent,
                           Vector<std::int32_t> value, Vector<std::int64_t> level_start,
                           Vector<std::int32_t> leaf, Vector<std::int32_t> outcome, Weight weight,
                           std::int32_t n_outcomes, bool dense) {
    check_class<CountTree>(tree_class, "tree_class");
    check_size(outcome.size(), leaf.size(), "outcome", "entry of leaf");
    check_at_least(n_outcomes, 1, "n_outcomes");
    CountTree tree;
    without_gil([&] {
        tree.n_outcomes = n_outcomes;
        tree.parent.assign(parent.begin(), parent.end());
        tree.value.assign(value.begin(), value.end());
        tree.level_start.assign(level_start.begin(), level_start.end());
        validate_nodes(tree);
        check_codes(leaf, static_cast<std::int64_t>(parent.size()), "leaf", -1, -1);
        check_codes(outcome, n_outcomes, "outcome");
        check_weights(weight, leaf.size(), "weight");
        if (dense)
            require_memory(16.0 * n_outcomes * static_cast<double>(parent.size()),
                           parent.size() + leaf.size(), "n_outcomes", n_outcomes);
        count_leaves({leaf, outcome, data_or_null(weight), n_outcomes}, dense, tree);
        index_nodes(tree);
    });
    return make_object(tree_class, std::move(tree));
}

auto pack_tree_of(const CountTree& counts, Vector<std::int32_t> feature, Vector<std::uint8_t> kind,
                  Vector<double> threshold, Vector<std::int32_t> missing_value) {
    const auto n_nodes = counts.parent.size();
    check_size(feature.size(), n_nodes, "feature", "node");
    check_size(kind.size(), n_nodes, "kind", "node");
    check_size(threshold.size(), n_nodes, "threshold", "node");
    check_size(missing_value.size(), n_nodes, "missing_value", "node");
    require(n_nodes > 0, "counts is empty");
    for (const int one : kind) check_range(one, 0, 3, "kind");
    auto packed =
        without_gil([&] { return pack_tree({counts, feature, kind, threshold, missing_value}); });
    return std::tuple(to_bytes(std::move(packed.nodes)), to_numpy(std::move(packed.owner)));
}

NumpyMatrix blend_rows_of(const PackedTrees& tree, Vector<std::int32_t> owner,
                          Vector<double> bandwidth, const FeatureColumns& columns,
                          std::int64_t n_rows, Matrix<double> owner_rows, int n_threads) {
    require(tree.n_trees() == 1, "tree must be one tree");
    columns.check_rows(n_rows);
    check_at_least(columns.size(), tree.n_features(), "the number of columns");
    check_size(owner.size(), tree.n_nodes(), "owner", "node");
    check_size(bandwidth.size(), tree.n_nodes(), "bandwidth", "node");
    check_codes(owner, static_cast<std::int64_t>(owner_rows.shape(0)), "owner");
    columns.check_results(n_rows, sizeof(double) * owner_rows.shape(1));
    const auto n = static_cast<std::size_t>(n_rows), width = owner_rows.shape(1);
    std::vector<double> out(n * width);
    without_gil([&] {
        blend_rows(tree.view().nodes, owner, bandwidth, columns.features(), n_rows, owner_rows,
                   width, n_threads, out);
    });
    return to_numpy(std::move(out), {n, width});
}

}  // namespace

void bind_trees(nb::module_& m) {
    nb::class_<SortedColumns> sorted(m, "SortedColumns");
    define_init(sorted, "SortedColumns", &make_sorted_columns, "columns", "n_rows", "n_threads");
    sorted.def_ro("n_rows", &SortedColumns::n_rows);
    define_arrays(sorted, "row", &SortedColumns::row, "rank", &SortedColumns::rank);

    define(m, "grow_best_tree", &grow_best_tree_of, "table", "outcome", "n_outcomes", "grow_weight",
           "count_weight", "criterion", "min_samples_leaf", "numeric_min_share", "binary_codes",
           "mdl_correction", "max_depth", "max_features", "n_values", "monotone", "seed",
           "n_threads");
    define(m, "count_leaves", &count_leaves_of, "tree_class", "parent", "value", "level_start",
           "leaf", "outcome", "weight", "n_outcomes", "dense");
    define(m, "pack_tree", &pack_tree_of, "counts", "feature", "kind", "threshold",
           "missing_value");
    define(m, "blend_rows", &blend_rows_of, "tree", "owner", "bandwidth", "columns", "n_rows",
           "owner_rows", "n_threads");
}

}  // namespace priorwise
