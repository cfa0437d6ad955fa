// Bindings of the kernels of src/core/cuts.
#include <numeric>

#include "bind/shared/define.hpp"
#include "common/parallel.hpp"
#include "cuts/cuts.hpp"

namespace priorwise {
namespace {

std::int64_t check_rows(std::size_t n_rows) {
    check_range(n_rows, 0, std::numeric_limits<std::int32_t>::max(), "rows of values");
    return static_cast<std::int64_t>(n_rows);
}

auto rank_values_of(Matrix<double> values, Array<std::int32_t, 2> ranks, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(values.shape(0));
    const auto n_rows = check_rows(values.shape(1));
    require(ranks.shape(0) == values.shape(0) && ranks.shape(1) == values.shape(1),
            "ranks must have the shape of values");
    require_memory(32.0 * static_cast<double>(n_features), values.size(), "the number of features",
                   n_features);
    std::vector<std::vector<double>> distinct(values.shape(0));
    without_gil([&] {
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            distinct[static_cast<std::size_t>(i)] =
                rank_values(values.data() + i * n_rows, n_rows, ranks.data() + i * n_rows);
        });
    });
    return to_arrays(std::move(distinct));
}

void cut_values_of(Matrix<double> values, const std::vector<Vector<double>>& cut_points,
                   Vector<std::int32_t> missing_codes, Vector<std::int64_t> positions,
                   Array<std::int32_t, 2> codes, int n_threads) {
    const auto n_rows = check_rows(values.shape(1));
    check_size(cut_points.size(), values.shape(0), "cut_points", "feature");
    check_size(missing_codes.size(), values.shape(0), "missing_codes", "feature");
    check_size(positions.size(), values.shape(0), "positions", "feature");
    check_size(codes.shape(1), values.shape(1), "codes", "row of values");
    check_distinct_columns(view(positions), codes.shape(0), "positions");
    std::vector<CutFeature> features;
    for (std::size_t i = 0; i < values.shape(0); ++i)
        features.push_back({cut_points[i], missing_codes[i], positions[i]});
    const GilRelease release;
    cut_table(features, values.data(), n_rows, codes.data(), n_threads);
}

NumpyVector<std::int64_t> nearest_boundaries(Vector<double> below, Vector<std::int64_t> starts,
                                             Vector<std::int64_t> feature, Vector<double> quantile,
                                             Vector<std::uint8_t> of_rows) {
    check_size(quantile.size(), feature.size(), "quantile", "feature");
    check_size(of_rows.size(), feature.size(), "of_rows", "feature");
    std::vector<std::int64_t> boundary(feature.size());
    without_gil([&] {
        bool rising = starts.size() > 0 && starts[0] == 0 &&
                      std::cmp_equal(starts[starts.size() - 1], below.size());
        for (std::size_t f = 1; f < starts.size(); ++f)
            rising = rising && starts[f - 1] <= starts[f];
        require(rising, "starts must rise from 0 to the number of values");
        for (std::size_t i = 0; i < boundary.size(); ++i) {
            const auto f = feature[i];
            check_range(f, 0, static_cast<std::int64_t>(starts.size()) - 2, "feature");
            require(starts[f + 1] - starts[f] >= 2, "feature must have two values at least");
            const double q = quantile[i];
            require(q >= 0.0 && q <= 1.0, "quantile must lie in 0..1, got ", q);
            boundary[i] = nearest_boundary({below, starts}, {f, q, of_rows[i] != 0});
        }
    });
    return to_numpy(std::move(boundary));
}

auto entropy_cuts_of(Matrix<std::int32_t> ranks, Vector<std::int32_t> n_distinct,
                     Vector<std::int32_t> classes, std::int32_t n_classes,
                     std::optional<Vector<double>> weights, const std::string& rule,
                     std::int32_t max_depth, Vector<std::uint64_t> seeds, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(ranks.shape(0));
    const auto n_rows = check_rows(ranks.shape(1));
    check_size(n_distinct.size(), ranks.shape(0), "n_distinct", "feature");
    check_size(seeds.size(), ranks.shape(0), "seeds", "feature");
    check_size(classes.size(), ranks.shape(1), "classes", "row");
    check_at_least(n_classes, 1, "n_classes");
    require_memory(32.0 * n_classes * static_cast<double>(n_features), ranks.size(), "n_classes",
                   n_classes);
    check_at_least(max_depth, 0, "max_depth");
    const auto kind = choose<CutRule>("rule", rule,
                                      {{"mdl", CutRule::mdl},
                                       {"random_mdl", CutRule::random_mdl},
                                       {"tree", CutRule::tree},
                                       {"pruned_tree", CutRule::pruned_tree}});
    std::vector<std::vector<std::int32_t>> cuts(ranks.shape(0));
    without_gil([&] {
        check_codes(classes, n_classes, "classes");
        check_weights(weights, classes.size(), "weights");
        for (std::int64_t i = 0; i < n_features; ++i) {
            check_range(n_distinct[i], 0, n_rows, "n_distinct");
            check_codes(std::span(ranks.data() + i * n_rows, classes.size()), n_distinct[i],
                        "ranks", i, -1);
        }
        const double total = weights ? std::accumulate(weights->begin(), weights->end(), 0.0)
                                     : static_cast<double>(n_rows);
        const FixedLog log(total, n_rows, n_rows);
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            const RankedFeature feature{ranks.data() + i * n_rows,
                                        classes.data(),
                                        data_or_null(weights),
                                        n_rows,
                                        n_distinct[i],
                                        n_classes};
            cuts[static_cast<std::size_t>(i)] =
                entropy_cuts(feature, kind, max_depth, seeds[i], log);
        });
    });
    return to_arrays(std::move(cuts));
}

}  // namespace

void bind_cuts(nb::module_& m) {
    define(m, "rank_values", &rank_values_of, "values", "ranks", "n_threads");
    define(m, "cut_values", &cut_values_of, "values", "cut_points", "missing_codes", "positions",
           "codes", "n_threads");
    define(m, "nearest_boundaries", &nearest_boundaries, "below", "starts", "feature", "quantile",
           "of_rows");
    define(m, "entropy_cuts", &entropy_cuts_of, "ranks", "n_distinct", "classes", "n_classes",
           "weights", "rule", "max_depth", "seeds", "n_threads");
}

}  // namespace priorwise
