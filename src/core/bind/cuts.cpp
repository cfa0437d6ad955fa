// Bindings of the kernels of src/core/cuts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "common/parallel.hpp"
#include "cuts/cuts.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

auto rank_values_of(Matrix<double> values,
                    nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig> ranks, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(values.shape(0));
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    require(ranks.shape(0) == values.shape(0) && ranks.shape(1) == values.shape(1),
            "ranks must have the shape of values");
    std::vector<std::vector<double>> distinct(static_cast<std::size_t>(n_features));
    {
        nb::gil_scoped_release release;
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            distinct[static_cast<std::size_t>(i)] =
                rank_values(values.data() + i * n_rows, n_rows, ranks.data() + i * n_rows);
        });
    }
    std::vector<NumpyVector<double>> arrays;
    for (auto& one : distinct) arrays.push_back(to_numpy(std::move(one)));
    return arrays;
}

void cut_values_of(Matrix<double> values, const std::vector<Vector<double>>& cut_points,
                   Vector<std::int32_t> missing_codes, Vector<std::int64_t> positions,
                   nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig> codes, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(values.shape(0));
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    require(cut_points.size() == values.shape(0) && missing_codes.shape(0) == values.shape(0) &&
                positions.shape(0) == values.shape(0),
            "cut_points, missing_codes and positions need one entry per feature");
    require(codes.shape(1) == values.shape(1), "codes and values differ in rows");
    for (const auto position : view(positions)) {
        require(position >= 0 && position < static_cast<std::int64_t>(codes.shape(0)),
                "positions must be rows of codes");
    }
    nb::gil_scoped_release release;
    constexpr std::int64_t kBlock = 1 << 14;
    const std::int64_t n_blocks = (n_rows + kBlock - 1) / kBlock;
    parallel_for(n_features * n_blocks, n_threads, [&](std::int64_t task) {
        const std::int64_t i = task / n_blocks, begin = task % n_blocks * kBlock;
        const auto& cuts = cut_points[static_cast<std::size_t>(i)];
        cut_values(values.data() + i * n_rows + begin, std::min(kBlock, n_rows - begin),
                   cuts.data(), static_cast<std::int64_t>(cuts.shape(0)), missing_codes.data()[i],
                   codes.data() + positions.data()[i] * n_rows + begin);
    });
}

CutRule cut_rule(const std::string& name) {
    if (name == "mdl") return CutRule::mdl;
    if (name == "random_mdl") return CutRule::random_mdl;
    if (name == "tree") return CutRule::tree;
    require(name == "pruned_tree", [&] { return "rule must be a known cut rule, got " + name; });
    return CutRule::pruned_tree;
}

auto entropy_cuts_of(Matrix<std::int32_t> ranks, Vector<std::int32_t> n_distinct,
                     Vector<std::int32_t> classes, std::int32_t n_classes,
                     std::optional<Vector<double>> weights, const std::string& rule, int max_depth,
                     Vector<std::uint64_t> seeds, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(ranks.shape(0));
    const auto n_rows = static_cast<std::int64_t>(ranks.shape(1));
    require(n_distinct.shape(0) == ranks.shape(0) && seeds.shape(0) == ranks.shape(0),
            "n_distinct and seeds need one entry per feature");
    require(classes.shape(0) == ranks.shape(1) && (!weights || weights->shape(0) == ranks.shape(1)),
            "classes and weights need one entry per row");
    const CutRule kind = cut_rule(rule);
    std::vector<std::vector<std::int32_t>> cuts(static_cast<std::size_t>(n_features));
    {
        nb::gil_scoped_release release;
        double total = weights ? 0.0 : static_cast<double>(n_rows);
        if (weights) {
            for (const double weight : view(*weights)) total += weight;
        }
        for (const auto k : view(classes)) require(k >= 0 && k < n_classes, "no such class");
        const FixedLog log(total, n_rows);
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            const RankedFeature feature{ranks.data() + i * n_rows,
                                        classes.data(),
                                        weights ? weights->data() : nullptr,
                                        n_rows,
                                        n_distinct.data()[i],
                                        n_classes};
            for (std::int64_t row = 0; row < n_rows; ++row) {
                require(feature.ranks[row] < feature.n_distinct, "ranks must be below n_distinct");
            }
            cuts[static_cast<std::size_t>(i)] =
                entropy_cuts(feature, kind, max_depth, seeds.data()[i], log);
        });
    }
    std::vector<NumpyVector<std::int32_t>> arrays;
    for (auto& one : cuts) arrays.push_back(to_numpy(std::move(one)));
    return arrays;
}

}  // namespace

void bind_cuts(nb::module_& m) {
    m.def("rank_values", &rank_values_of, "values"_a, "ranks"_a, "n_threads"_a);
    m.def("cut_values", &cut_values_of, "values"_a, "cut_points"_a, "missing_codes"_a,
          "positions"_a, "codes"_a, "n_threads"_a);
    m.def("entropy_cuts", &entropy_cuts_of, "ranks"_a, "n_distinct"_a, "classes"_a, "n_classes"_a,
          "weights"_a.none(), "rule"_a, "max_depth"_a, "seeds"_a, "n_threads"_a);
}

}  // namespace priorwise
