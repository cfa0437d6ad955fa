// Bindings of boosting.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/features.hpp"
#include "bind/forests.hpp"
#include "boosting/booster.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

using Scores = Matrix<double>;

auto boost_of(const nb::list& columns, Vector<std::int32_t> outcome,
              std::optional<Vector<double>> weight, Scores offset, Vector<std::int32_t> fold,
              std::int32_t n_boosters, std::int32_t max_depth, double rate, double l2,
              double min_hessian, std::int32_t max_rounds, std::int32_t patience,
              double max_seconds, Vector<double> scales, int n_threads) {
    const auto n_rows = outcome.shape(0);
    const auto n_outcomes = static_cast<std::int32_t>(offset.shape(1));
    const HeldFeatures held(columns, static_cast<std::int64_t>(n_rows));
    require(!held.features.empty(), "columns is empty");
    require(held.features.size() < 1U << (31 - ForestNode::kPlaces), "too many features");
    require(n_outcomes >= 2, "offset needs two columns at least");
    require(offset.shape(0) == n_rows && fold.shape(0) == n_rows,
            "offset, fold and rows differ in length");
    for (std::size_t i = 0; i < offset.size(); ++i)
        require(std::isfinite(offset.data()[i]), "offset must be finite");
    growth_rows(held, outcome, n_outcomes, weight, std::nullopt);
    check_training_codes(held.features, static_cast<std::int64_t>(n_rows));
    require(n_boosters >= 1, "n_boosters must be at least 1");
    std::vector<double> held_out(static_cast<std::size_t>(n_boosters));
    double all = 0.0;
    for (std::size_t r = 0; r < n_rows; ++r) {
        const auto f = fold.data()[r];
        const double w = weight ? weight->data()[r] : 1.0;
        require(f >= 0, "fold must not be negative");
        if (f < n_boosters) held_out[static_cast<std::size_t>(f)] += w;
        all += w;
    }
    for (const auto own : held_out)
        require(own > 0.0 && own < all, "every booster needs rows to learn from and rows held out");
    require(l2 > 0.0 && min_hessian > 0.0 && rate > 0.0, "l2, min_hessian, rate must be above 0");
    const BoostRules rules{max_depth,  rate,     l2,          min_hessian,
                           max_rounds, patience, max_seconds, view(scales)};
    require(scales.shape(0) >= 1, "scales is empty");
    Boosted boosted;
    {
        nb::gil_scoped_release release;
        const BoostBins bins(held.features, static_cast<std::int64_t>(n_rows), n_threads);
        const BoostRows rows{bins,
                             view(outcome),
                             n_outcomes,
                             weight ? weight->data() : nullptr,
                             {offset.data(), offset.size()}};
        boosted = boost(rows, view(fold), n_boosters, rules, n_threads);
    }
    const auto n_nodes = boosted.nodes.size();
    const auto n_judged = boosted.loss.size() / scales.shape(0);
    return std::tuple(
        to_numpy(std::move(boosted.tree_start)), nodes_to_numpy(std::move(boosted.nodes)),
        to_numpy(std::move(boosted.value), n_nodes), to_numpy(std::move(boosted.loss), n_judged));
}

}  // namespace

void bind_boosting(nb::module_& m) {
    m.def("boost", &boost_of, "columns"_a, "outcome"_a, "weight"_a.none(), "offset"_a, "fold"_a,
          "n_boosters"_a, "max_depth"_a, "rate"_a, "l2"_a, "min_hessian"_a, "max_rounds"_a,
          "patience"_a, "max_seconds"_a, "scales"_a, "n_threads"_a);
}

}  // namespace priorwise
