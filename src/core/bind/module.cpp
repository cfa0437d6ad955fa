// Only the files called bind know Python: check shapes, release the GIL, call one kernel.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "common/parallel.hpp"
#include "counts/count_tree.hpp"
#include "smoothing/additive.hpp"
#include "smoothing/hdp.hpp"
#include "smoothing/hgs.hpp"
#include "smoothing/stirling.hpp"
#include "smoothing/tree_smoothers.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace priorwise {
namespace {

using TreeArrays =
    std::tuple<NumpyVector<std::int32_t>, NumpyVector<std::int32_t>, NumpyVector<std::int64_t>,
               NumpyVector<std::int64_t>, NumpyVector<std::int32_t>, NumpyVector<std::int32_t>,
               NumpyVector<double>>;

void check_codes(const Columns& columns, std::span<const std::int32_t> arity) {
    require(columns.size() == arity.size(), "columns and arities differ in length");
    for (std::size_t c = 0; c < columns.size(); ++c) {
        require(columns[c].shape(0) == columns[0].shape(0), "columns differ in length");
        for (const auto code : view(columns[c]))
            require(code >= 0 && code < arity[c], "column " + std::to_string(c) + ": code " +
                                                      std::to_string(code) + " is not in 0.." +
                                                      std::to_string(arity[c] - 1));
    }
}

std::vector<TreeArrays> fill_count_trees(const Columns& columns, Vector<std::int32_t> arity,
                                         const std::vector<std::int32_t>& targets,
                                         const std::vector<std::vector<std::int32_t>>& paths,
                                         std::optional<Vector<double>> weight,
                                         std::int32_t max_dense_outcomes, int n_threads) {
    require(!columns.empty(), "columns is empty");
    require(targets.size() == paths.size(), "targets and paths differ in length");
    const auto n_rows = static_cast<std::int64_t>(columns[0].shape(0));
    const auto arities = view(arity);
    const double* weights = nullptr;
    if (weight) {
        require(weight->shape(0) == columns[0].shape(0), "weight and columns differ in length");
        weights = weight->data();
    }
    const auto at = [&](std::int32_t column) {
        require(column >= 0 && static_cast<std::size_t>(column) < columns.size(),
                "no column " + std::to_string(column));
        return static_cast<std::size_t>(column);
    };
    std::vector<CodedRows> work;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto target = at(targets[i]);
        CodedRows rows{n_rows, {}, {}, columns[target].data(), arities[target], weights};
        for (const auto column : paths[i]) {
            rows.path.push_back(columns[at(column)].data());
            rows.path_arity.push_back(arities[column]);
        }
        work.push_back(std::move(rows));
    }
    std::vector<CountTree> trees(work.size());
    {
        nb::gil_scoped_release release;
        check_codes(columns, arities);
        parallel_for(static_cast<std::int64_t>(work.size()), n_threads, [&](std::int64_t i) {
            trees[i] = fill_count_tree(work[i], work[i].n_outcomes <= max_dense_outcomes);
        });
    }
    std::vector<TreeArrays> result;
    for (auto& tree : trees)
        result.emplace_back(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.value)),
                            to_numpy(std::move(tree.level_start)),
                            to_numpy(std::move(tree.row_start)), to_numpy(std::move(tree.outcome)),
                            to_numpy(std::move(tree.parent_cell)),
                            to_numpy(std::move(tree.counts)));
    return result;
}

NumpyVector<std::int32_t> find_deepest_nodes_of(Vector<std::int32_t> value,
                                                Vector<std::int32_t> child_start,
                                                const Columns& path, std::int64_t n_rows,
                                                int n_threads) {
    require(child_start.shape(0) == value.shape(0) + 1, "child_start and value do not fit");
    for (const auto& column : path)
        require(static_cast<std::int64_t>(column.shape(0)) == n_rows,
                "path columns differ in length");
    std::vector<std::int32_t> deepest(static_cast<std::size_t>(n_rows));
    {
        nb::gil_scoped_release release;
        constexpr std::int64_t block = 1 << 14;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            std::vector<const std::int32_t*> columns;
            for (const auto& column : path) columns.push_back(column.data() + b * block);
            find_deepest_nodes(view(value), view(child_start), columns,
                               std::min(block, n_rows - b * block), deepest.data() + b * block);
        });
    }
    return to_numpy(std::move(deepest));
}

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
    require(name == "log" || name == "squared", "loss must be 'log' or 'squared', got " + name);
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

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of priorwise: arrays in, arrays out.";

    m.def("fill_count_trees", &fill_count_trees, "columns"_a, "arity"_a, "targets"_a, "paths"_a,
          "weight"_a.none(), "max_dense_outcomes"_a, "n_threads"_a);
    m.def("find_deepest_nodes", &find_deepest_nodes_of, "value"_a, "child_start"_a, "path"_a,
          "n_rows"_a, "n_threads"_a);

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

    bind_data(m);
    bind_networks(m);
    bind_superparent(m);
    bind_tally(m);
    bind_weights(m);
    bind_splits(m);
    bind_forest(m);
    bind_boost(m);
}

}  // namespace priorwise
