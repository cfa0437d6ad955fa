// Bindings of the kernels of src/core/boosting.
#include "bind/shared/define.hpp"
#include "bind/shared/features.hpp"
#include "boosting/booster.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

BoostingRules make_boosting_rules(std::int32_t max_depth, std::int32_t max_leaves, bool symmetric,
                                  double rate, double l2, double min_hessian,
                                  std::int32_t max_rounds, std::int32_t patience,
                                  double max_seconds, double row_share, double column_share,
                                  std::uint64_t seed, Vector<double> scales,
                                  Vector<std::int32_t> monotone) {
    check_at_least(max_depth, 1, "max_depth");
    check_at_least(max_leaves, 0, "max_leaves");
    require(!symmetric || max_leaves == 0, "max_leaves must be 0 for symmetric trees, got ",
            max_leaves);
    check_positive(rate, "rate");
    check_positive(l2, "l2");
    check_positive(min_hessian, "min_hessian");
    check_at_least(max_rounds, 0, "max_rounds");
    check_at_least(patience, 0, "patience");
    require(!std::isnan(max_seconds), "max_seconds must not be NaN");
    require(row_share > 0.0 && row_share <= 1.0, "row_share must lie in 0..1, above 0");
    require(column_share > 0.0 && column_share <= 1.0, "column_share must lie in 0..1, above 0");
    require(scales.size() > 0, "scales is empty");
    check_finite(view(scales), "scales");
    for (const auto direction : monotone) check_range(direction, -1, 1, "monotone");
    return {max_depth, max_leaves,  symmetric, rate,         l2,   min_hessian,  max_rounds,
            patience,  max_seconds, row_share, column_share, seed, copy(scales), copy(monotone)};
}

auto to_tuple(Boosted boosted, std::size_t n_outcomes, std::size_t n_scales) {
    const auto n_nodes = boosted.nodes.size(), n_judged = boosted.loss.size() / n_scales;
    const auto n_boosters = boosted.booster_loss.size() / boosted.loss.size();
    return std::tuple(to_numpy(std::move(boosted.tree_start)), to_bytes(std::move(boosted.nodes)),
                      to_numpy(std::move(boosted.value), {n_nodes, n_outcomes}),
                      to_numpy(std::move(boosted.loss), {n_judged, n_scales}),
                      to_numpy(std::move(boosted.booster_loss), {n_judged, n_scales, n_boosters}));
}

auto boost_of(const FeatureColumns& columns, Vector<std::int32_t> outcome, Weight weight,
              Matrix<double> offset, Vector<std::int32_t> fold, std::int32_t n_boosters,
              const BoostingRules& rules, int n_threads) {
    const auto n_rows = outcome.size();
    columns.check_rows(static_cast<std::int64_t>(n_rows));
    check_range(columns.size(), 1, (1 << (31 - ForestNode::kPlaces)) - 1, "the number of columns");
    check_size(offset.shape(0), n_rows, "offset", "row");
    check_range(offset.shape(1), 2, 1 << 24, "columns of offset");
    check_size(fold.size(), n_rows, "fold", "row");
    check_range(n_boosters, 1, static_cast<std::int64_t>(n_rows) + 1, "n_boosters");
    check_monotone(columns.features(), rules.monotone, static_cast<std::int64_t>(offset.shape(1)));
    const auto n_outcomes = static_cast<std::int32_t>(offset.shape(1));
    auto boosted = without_gil([&] {
        check_growth_rows(columns.features(), outcome, n_outcomes, weight, std::nullopt);
        columns.check_training_codes();
        check_finite(std::span<const double>(offset), "offset");
        std::vector<double> held_out(static_cast<std::size_t>(n_boosters));
        double all = 0.0;
        for (std::size_t r = 0; r < n_rows; ++r) {
            const double w = weight ? (*weight)[r] : 1.0;
            check_at_least(fold[r], 0, "fold");
            if (fold[r] < n_boosters) held_out[static_cast<std::size_t>(fold[r])] += w;
            all += w;
        }
        for (const auto held : held_out)
            require(held < all, "fold: every booster needs rows to learn from");
        require(*std::max_element(held_out.begin(), held_out.end()) > 0.0,
                "fold: some booster needs rows held out");
        const BoostBins bins(columns.features(), static_cast<std::int64_t>(n_rows), n_threads);
        const BoostRows rows{
            bins, outcome, n_outcomes, data_or_null(weight), {std::span<const double>(offset)}};
        return boost(rows, fold, n_boosters, rules, n_threads);
    });
    return to_tuple(std::move(boosted), offset.shape(1), rules.scales.size());
}

// Bins of the features, and whether every row is in one of them.
std::vector<BoostBins::FeatureBins> read_bins(const std::vector<Vector<double>>& edges,
                                              const Vector<std::int32_t>& is_nominal,
                                              const Matrix<std::uint8_t>& bins) {
    std::vector<BoostBins::FeatureBins> all;
    for (std::size_t f = 0; f < edges.size(); ++f) {
        const auto own = view(edges[f]);
        const bool nominal = is_nominal[f] != 0;
        check_range(own.size(), 0, BoostBins::kMaxBins - 2, "the number of edges");
        check_finite(own, "edges");
        for (std::size_t b = 0; b + 1 < own.size() && !nominal; ++b)
            require(own[b] < own[b + 1], "edges[", f, "] must ascend");
        all.push_back(nominal ? BoostBins::FeatureBins::codes(own)
                              : BoostBins::FeatureBins::numbers(own));
    }
    const auto* bin = bins.data();
    for (std::size_t r = 0; r < bins.shape(0); ++r)
        for (std::size_t f = 0; f < all.size(); ++f, ++bin)
            require(*bin < all[f].n_bins, "bins of feature ", f, " must lie in 0..",
                    all[f].n_bins - 1, ", got ", static_cast<int>(*bin));
    return all;
}

auto boost_coded_of(Matrix<std::uint8_t> bins, const std::vector<Vector<double>>& edges,
                    Vector<std::int32_t> is_nominal, Vector<std::int32_t> outcome, Weight weight,
                    Matrix<float> offset, std::int64_t n_held, const BoostingRules& rules,
                    int n_threads) {
    const auto n_rows = outcome.size();
    const auto n_features = bins.shape(1);
    check_range(static_cast<std::int64_t>(n_rows), 0, std::numeric_limits<std::int32_t>::max() - 1,
                "n_rows");
    check_size(bins.shape(0), n_rows, "bins", "row");
    check_range(n_features, 1, (1 << (31 - ForestNode::kPlaces)) - 1, "the number of columns");
    check_size(edges.size(), n_features, "edges", "column");
    check_size(is_nominal.size(), n_features, "is_nominal", "column");
    check_size(offset.shape(0), n_rows, "offset", "row");
    check_range(offset.shape(1), 1, 1 << 24, "columns of offset");
    require(offset.shape(1) != 2, "offset of two classes must be their difference");
    check_range(n_held, 1, static_cast<std::int64_t>(n_rows) - 1, "n_held");
    const auto n_outcomes = std::max(2, static_cast<std::int32_t>(offset.shape(1)));
    std::vector<Feature> features(n_features);
    for (std::size_t f = 0; f < n_features; ++f)
        if (is_nominal[f] != 0) features[f].code = outcome.data();  // nominal, never read
    check_monotone(features, rules.monotone, n_outcomes);
    auto boosted = without_gil([&] {
        double learnt = 0.0, held = 0.0;
        check_growth_rows({}, outcome, n_outcomes, weight, std::nullopt);
        check_finite(std::span<const float>(offset), "offset");
        for (std::size_t r = 0; r < n_rows; ++r)
            (r < n_rows - static_cast<std::size_t>(n_held) ? learnt : held) +=
                weight ? (*weight)[r] : 1.0;
        require(learnt > 0.0 && held > 0.0, "n_held: needs rows to learn from and rows held out");
        const BoostBins coded(read_bins(edges, is_nominal, bins), bins.data(),
                              static_cast<std::int64_t>(n_rows));
        const BoostRows rows{
            coded, outcome, n_outcomes, data_or_null(weight), {{}, std::span<const float>(offset)}};
        return boost_first_rows(rows, n_held, rules, n_threads);
    });
    return to_tuple(std::move(boosted), static_cast<std::size_t>(n_outcomes), rules.scales.size());
}

auto choose_bins_of(const FeatureColumns& columns, std::int64_t n_rows, int max_cuts,
                    int n_threads) {
    columns.check_rows(n_rows);
    check_range(max_cuts, 1, BoostBins::kMaxBins - 2, "max_cuts");
    std::vector<std::vector<double>> edges(columns.size());
    without_gil([&] {
        columns.check_training_codes();
        parallel_for(static_cast<std::int64_t>(columns.size()), n_threads, [&](std::int64_t f) {
            edges[f] = choose_bins(columns.features()[f], n_rows, max_cuts);
        });
    });
    return to_arrays(std::move(edges));
}

}  // namespace

void bind_boosting(nb::module_& m) {
    define_rules(m, "BoostingRules", &make_boosting_rules, "max_depth", "max_leaves", "symmetric",
                 "rate", "l2", "min_hessian", "max_rounds", "patience", "max_seconds", "row_share",
                 "column_share", "seed", "scales", "monotone");
    define(m, "boost", &boost_of, "columns", "outcome", "weight", "offset", "fold", "n_boosters",
           "rules", "n_threads");
    define(m, "choose_boost_bins", &choose_bins_of, "columns", "n_rows", "max_cuts", "n_threads");
    define(m, "boost_coded", &boost_coded_of, "bins", "edges", "is_nominal", "outcome", "weight",
           "offset", "n_held", "rules", "n_threads");
}

}  // namespace priorwise
