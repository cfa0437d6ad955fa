// Bindings of the kernels of src/core/boosting.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/features.hpp"
#include "boosting/booster.hpp"

namespace priorwise {
namespace {

auto boost_of(const FeatureColumns& columns, Vector<std::int32_t> outcome, Weight weight,
              Matrix<double> offset, Vector<std::int32_t> fold, std::int32_t n_boosters,
              std::int32_t max_depth, double rate, double l2, double min_hessian,
              std::int32_t max_rounds, std::int32_t patience, double max_seconds, double row_share,
              double column_share, std::uint64_t seed, Vector<double> scales,
              Vector<std::int32_t> monotone, int n_threads) {
    const auto n_rows = outcome.size();
    columns.check_rows(static_cast<std::int64_t>(n_rows));
    check_range(columns.size(), 1, (1 << (31 - ForestNode::kPlaces)) - 1, "the number of columns");
    check_size(offset.shape(0), n_rows, "offset", "row");
    check_range(offset.shape(1), 2, 1 << 24, "columns of offset");
    check_size(fold.size(), n_rows, "fold", "row");
    check_range(n_boosters, 1, static_cast<std::int64_t>(n_rows), "n_boosters");
    check_at_least(max_depth, 1, "max_depth");
    check_positive(rate, "rate");
    check_positive(l2, "l2");
    check_positive(min_hessian, "min_hessian");
    check_at_least(max_rounds, 0, "max_rounds");
    check_at_least(patience, 0, "patience");
    require(!std::isnan(max_seconds), "max_seconds must not be NaN");
    check_positive(row_share, "row_share");
    check_positive(column_share, "column_share");
    require(scales.size() > 0, "scales is empty");
    check_finite(view(scales), "scales");
    check_monotone(columns.features(), monotone, static_cast<std::int64_t>(offset.shape(1)));
    const auto n_outcomes = static_cast<std::int32_t>(offset.shape(1));
    Boosted boosted;
    {
        nb::gil_scoped_release release;
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
            require(held > 0.0 && held < all,
                    "fold: every booster needs rows to learn from and rows held out");
        const BoostRules rules{max_depth,    rate,     l2,          min_hessian,
                               max_rounds,   patience, max_seconds, row_share,
                               column_share, seed,     scales,      monotone};
        const BoostBins bins(columns.features(), static_cast<std::int64_t>(n_rows), n_threads);
        const BoostRows rows{bins, outcome, n_outcomes, data_or_null(weight), offset};
        boosted = boost(rows, fold, n_boosters, rules, n_threads);
    }
    const auto n_nodes = boosted.nodes.size();
    const auto n_judged = boosted.loss.size() / scales.size();
    return std::tuple(to_numpy(std::move(boosted.tree_start)), to_bytes(std::move(boosted.nodes)),
                      to_numpy(std::move(boosted.value), {n_nodes, offset.shape(1)}),
                      to_numpy(std::move(boosted.loss), {n_judged, scales.size()}));
}

}  // namespace

void bind_boosting(nb::module_& m) {
    define(m, "boost", &boost_of, "columns", "outcome", "weight", "offset", "fold", "n_boosters",
           "max_depth", "rate", "l2", "min_hessian", "max_rounds", "patience", "max_seconds",
           "row_share", "column_share", "seed", "scales", "monotone", "n_threads");
}

}  // namespace priorwise
