// Bindings of the kernels of src/core/smoothing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/factor.hpp"
#include "bind/held_tree.hpp"
#include "common/parallel.hpp"
#include "smoothing/additive.hpp"
#include "smoothing/hdp.hpp"
#include "smoothing/hgs.hpp"
#include "smoothing/level_shrinkage.hpp"
#include "smoothing/stirling.hpp"
#include "smoothing/tree_smoothers.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

NumpyVector<double> shrink_tree(nb::handle tree, Vector<double> weight, bool towards_parent,
                                bool copy_empty) {
    const HeldTree held(tree);
    require(weight.shape(0) == held.view.parent.size(), "weight needs one number per node");
    std::vector<double> p(held.view.counts.size());
    {
        nb::gil_scoped_release release;
        shrink(held.view, view(weight), towards_parent ? Base::kParent : Base::kUniform, copy_empty,
               p);
    }
    return to_numpy(std::move(p));
}

NumpyVector<std::int32_t> node_heights_of(nb::handle tree) {
    const HeldTree held(tree);
    std::vector<std::int32_t> height(held.view.parent.size());
    node_heights(held.view.parent, height);
    return to_numpy(std::move(height));
}

RowLoss row_loss(const std::string& name) {
    require(name == "log" || name == "squared",
            [&] { return "loss must be 'log' or 'squared', got " + name; });
    return name == "log" ? RowLoss::kLog : RowLoss::kSquared;
}

std::pair<double, NumpyVector<double>> hgs_loss_of(nb::handle tree, Vector<double> alpha,
                                                   const std::string& loss) {
    const HeldTree held(tree);
    require(alpha.shape(0) == held.view.parent.size(), "alpha needs one number per node");
    const auto kind = row_loss(loss);
    std::vector<double> gradient(held.view.parent.size());
    double cost;
    {
        nb::gil_scoped_release release;
        cost = hgs_loss(held.view, view(alpha), kind, gradient);
    }
    return {cost, to_numpy(std::move(gradient))};
}

NumpyVector<double> optimise_hgs_by_level_of(nb::handle tree, const std::string& loss,
                                             double prior_sd) {
    const HeldTree held(tree);
    const auto kind = row_loss(loss);
    std::vector<double> alpha;
    {
        nb::gil_scoped_release release;
        alpha = optimise_hgs_by_level(held.view, kind, prior_sd);
    }
    return to_numpy(std::move(alpha));
}

NumpyVector<double> hgs_estimate_of(nb::handle tree, Vector<double> alpha) {
    const HeldTree held(tree);
    require(alpha.shape(0) == held.view.parent.size(), "alpha needs one number per node");
    std::vector<double> p(held.view.counts.size());
    {
        nb::gil_scoped_release release;
        hgs_estimate(held.view, view(alpha), p);
    }
    return to_numpy(std::move(p));
}

NumpyVector<double> shrink_hierarchically_of(nb::handle tree, double strength) {
    const HeldTree held(tree);
    std::vector<double> p(held.view.counts.size());
    {
        nb::gil_scoped_release release;
        shrink_hierarchically(held.view, strength, p);
    }
    return to_numpy(std::move(p));
}

std::pair<NumpyVector<double>, NumpyVector<double>> average_prunings_of(nb::handle tree,
                                                                        double stop, double pseudo,
                                                                        double rate) {
    const HeldTree held(tree);
    std::vector<double> p(held.view.counts.size()), ends(held.view.parent.size());
    {
        nb::gil_scoped_release release;
        average_prunings(held.view, {stop, pseudo, rate}, p, ends);
    }
    return {to_numpy(std::move(p)), to_numpy(std::move(ends))};
}

HdpModel hdp_model(const HeldTree& held, const Vector<std::int32_t>& group, std::int32_t n_groups,
                   double shape, double rate, double root_concentration) {
    require(group.shape(0) == held.view.parent.size(), "group needs one number per node");
    for (std::size_t node = 1; node < group.shape(0); ++node)
        require(group.data()[node] >= 0 && group.data()[node] < n_groups,
                "group must lie in 0..n_groups - 1 below the root");
    return {held.view, view(group), n_groups, shape, rate, root_concentration};
}

auto solve_hdp_of(nb::handle tree, Vector<std::int32_t> group, Vector<double> concentration,
                  double shape, double rate, double root_concentration, int max_passes,
                  double tolerance) {
    const HeldTree held(tree);
    const auto n_groups = static_cast<std::int32_t>(concentration.shape(0));
    const auto model = hdp_model(held, group, n_groups, shape, rate, root_concentration);
    HdpState state{{}, {concentration.data(), concentration.data() + n_groups}};
    std::vector<double> p(held.view.counts.size());
    int n_passes;
    {
        nb::gil_scoped_release release;
        n_passes = solve_hdp(model, max_passes, tolerance, state, p);
    }
    return std::tuple(to_numpy(std::move(p)), to_numpy(std::move(state.passed)),
                      to_numpy(std::move(state.concentration)), n_passes);
}

auto sample_hdp_of(nb::handle tree, Vector<std::int32_t> group, Vector<double> passed,
                   Vector<double> concentration, double shape, double rate,
                   double root_concentration, std::int64_t n_sweeps, std::int64_t n_burn_in,
                   std::int64_t n_draws, std::uint64_t seed) {
    const HeldTree held(tree);
    const auto n_groups = static_cast<std::int32_t>(concentration.shape(0));
    const auto model = hdp_model(held, group, n_groups, shape, rate, root_concentration);
    const auto n_cells = held.view.counts.size();
    require(passed.shape(0) == n_cells, "passed needs one number per cell");
    require(n_burn_in >= 0 && n_burn_in < n_sweeps, "n_burn_in must be below n_sweeps");
    HdpState state{{passed.data(), passed.data() + n_cells},
                   {concentration.data(), concentration.data() + n_groups}};
    std::vector<double> mean_p(n_cells);
    std::vector<double> draws(static_cast<std::size_t>(n_draws) * n_cells);
    {
        nb::gil_scoped_release release;
        sample_hdp(model, {n_sweeps, n_burn_in, n_draws, seed}, state, mean_p, draws);
    }
    return std::tuple(to_numpy(std::move(mean_p)),
                      to_numpy(std::move(draws), static_cast<std::size_t>(n_draws)),
                      to_numpy(std::move(state.passed)), to_numpy(std::move(state.concentration)));
}

double stirling_ratio(std::int64_t n, std::int64_t t) {
    require(t >= 1 && t <= n, "t must lie in 1..n");
    thread_local StirlingRatios ratios;
    return ratios(n, t);
}

NumpyVector<double> level_weights_of(nb::handle tree) {
    const HeldTree held(tree);
    std::vector<double> weights;
    {
        nb::gil_scoped_release release;
        weights = level_weights(held.view);
    }
    return to_numpy(std::move(weights));
}

NumpyVector<double> weigh_levels_of(nb::handle tree, Vector<double> log_p,
                                    Vector<double> level_weight) {
    const HeldTree held(tree);
    require(log_p.shape(0) == held.view.counts.size(), "one log probability per cell");
    require(level_weight.shape(0) + 2 >= held.view.level_start.size() && level_weight.shape(0) > 0,
            "one weight per level below the root");
    std::vector<double> score;
    {
        nb::gil_scoped_release release;
        score = weigh_levels(held.view, view(log_p), view(level_weight));
    }
    return to_numpy(std::move(score));
}

using NumpyFloats = nb::ndarray<nb::numpy, float, nb::ndim<4>>;

NumpyFloats cross_fit_levels_of(nb::list factors, const std::vector<Vector<double>>& weights,
                                const Columns& columns, Vector<std::int32_t> y,
                                std::optional<Vector<double>> row_weight,
                                Vector<std::int32_t> block, std::int32_t n_blocks,
                                std::int32_t n_levels, int n_threads) {
    const auto n_rows = count_rows(columns);
    const auto n_factors = nb::len(factors);
    require(weights.size() == n_factors, "weights needs one array per factor");
    require(static_cast<std::int64_t>(y.shape(0)) == n_rows, "y and columns differ in length");
    require(static_cast<std::int64_t>(block.shape(0)) == n_rows,
            "block and columns differ in length");
    require(n_factors > 0, "factors is empty");
    std::vector<HeldFactor> held;
    held.reserve(n_factors);
    for (std::size_t f = 0; f < n_factors; ++f) {
        held.emplace_back(factors[f], columns);
        require(weights[f].shape(0) == held[f].tree.view.parent.size(), "one weight per node");
    }
    const auto n_classes = static_cast<std::size_t>(held[0].view.n_classes);
    const auto size = static_cast<std::size_t>(n_rows) * n_classes * n_levels;
    auto kept = std::make_unique<std::vector<float>>(n_factors * size, 0.0F);
    auto* out = kept.get();
    const auto owner = hand_over(kept);
    {
        nb::gil_scoped_release release;
        parallel_for(static_cast<std::int64_t>(n_factors), n_threads, [&](std::int64_t f) {
            const CrossFit fit{held[f].view,
                               held[f].tree.view,
                               view(weights[f]),
                               y.data(),
                               row_weight ? row_weight->data() : nullptr,
                               block.data(),
                               n_blocks,
                               n_levels,
                               n_rows};
            cross_fit_levels(fit, out->data() + f * size);
        });
    }
    return NumpyFloats(out->data(),
                       {n_factors, static_cast<std::size_t>(n_rows), n_classes,
                        static_cast<std::size_t>(n_levels)},
                       owner);
}

}  // namespace

void bind_smoothing(nb::module_& m) {
    m.def("shrink", &shrink_tree, "tree"_a, "weight"_a, "towards_parent"_a, "copy_empty"_a);
    m.def("node_heights", &node_heights_of, "tree"_a);
    m.def("hgs_loss", &hgs_loss_of, "tree"_a, "alpha"_a, "loss"_a);
    m.def("optimise_hgs_by_level", &optimise_hgs_by_level_of, "tree"_a, "loss"_a, "prior_sd"_a);
    m.def("hgs_estimate", &hgs_estimate_of, "tree"_a, "alpha"_a);
    m.def("shrink_hierarchically", &shrink_hierarchically_of, "tree"_a, "strength"_a);
    m.def("average_prunings", &average_prunings_of, "tree"_a, "stop"_a, "pseudo"_a, "rate"_a);
    m.def("solve_hdp", &solve_hdp_of, "tree"_a, "group"_a, "concentration"_a, "shape"_a, "rate"_a,
          "root_concentration"_a, "max_passes"_a, "tolerance"_a);
    m.def("sample_hdp", &sample_hdp_of, "tree"_a, "group"_a, "passed"_a, "concentration"_a,
          "shape"_a, "rate"_a, "root_concentration"_a, "n_sweeps"_a, "n_burn_in"_a, "n_draws"_a,
          "seed"_a);
    m.def("stirling_ratio", &stirling_ratio, "n"_a, "t"_a);
    m.def("level_weights", &level_weights_of, "tree"_a);
    m.def("weigh_levels", &weigh_levels_of, "tree"_a, "log_p"_a, "level_weight"_a);
    m.def("cross_fit_levels", &cross_fit_levels_of, "factors"_a, "weights"_a, "columns"_a, "y"_a,
          "row_weight"_a.none(), "block"_a, "n_blocks"_a, "n_levels"_a, "n_threads"_a);
}

}  // namespace priorwise
