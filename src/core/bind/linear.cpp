// Bindings of the kernels of weighted networks.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/factor.hpp"
#include "common/parallel.hpp"
#include "linear/conditional_fit.hpp"
#include "linear/logistic.hpp"
#include "linear/piecewise_score.hpp"
#include "smoothing/level_shrinkage.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

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
    auto* out = new std::vector<float>(n_factors * size, 0.0F);
    nb::capsule owner(out, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
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

using Features = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

NumpyVector<double> fit_conditional_of(Features features, Vector<double> offset,
                                       Vector<std::int32_t> y,
                                       std::optional<Vector<double>> row_weight,
                                       Vector<double> centre, Vector<double> penalty) {
    const auto n_classes = features.shape(1);
    const auto n_parameters = features.shape(2) + n_classes;
    require(offset.shape(0) == n_classes, "offset needs one number per class");
    require(y.shape(0) == features.shape(0), "y and features differ in length");
    require(centre.shape(0) == n_parameters && penalty.shape(0) == n_parameters,
            "centre and penalty need one number per parameter");
    for (const auto label : view(y))
        require(label >= 0 && static_cast<std::size_t>(label) < n_classes,
                "y must lie in 0..classes - 1");
    const ConditionalRows rows{static_cast<std::int64_t>(features.shape(0)),
                               static_cast<std::int32_t>(n_classes),
                               static_cast<std::int32_t>(features.shape(2)),
                               features.data(),
                               view(offset),
                               y.data(),
                               row_weight ? row_weight->data() : nullptr};
    std::vector<double> values;
    {
        nb::gil_scoped_release release;
        values = fit_conditional(rows, {view(centre), view(penalty)});
    }
    return to_numpy(std::move(values));
}

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FoldWeights = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void fit_logistic_of(Matrix<std::int32_t> index, Matrix<float> value, std::int32_t n_indicators,
                     Vector<std::int32_t> y, std::optional<Vector<double>> row_weight,
                     Vector<std::int32_t> fold, double penalty, double tolerance,
                     FoldWeights weights, int n_threads) {
    const auto n_rows = y.shape(0);
    require(index.shape(0) == n_rows && value.shape(0) == n_rows && fold.shape(0) == n_rows,
            "index, value, y and fold differ in length");
    require(penalty > 0.0, "penalty must be above 0");
    const LogisticRows rows{static_cast<std::int64_t>(n_rows),
                            static_cast<std::int32_t>(weights.shape(1)),
                            static_cast<std::int32_t>(index.shape(1)),
                            n_indicators,
                            static_cast<std::int32_t>(value.shape(1)),
                            index.data(),
                            value.data(),
                            y.data(),
                            row_weight ? row_weight->data() : nullptr};
    require(static_cast<std::int64_t>(weights.shape(2)) == rows.n_weights(),
            "weights needs folds x classes x (1 + indicators + values)");
    for (const auto label : view(y))
        require(label >= 0 && label < rows.n_classes, "y must lie in 0..classes - 1");
    for (std::size_t i = 0; i < index.size(); ++i)
        require(index.data()[i] < n_indicators, "index must lie below n_indicators");
    nb::gil_scoped_release release;
    const auto size = weights.shape(1) * weights.shape(2);
    parallel_for(static_cast<std::int64_t>(weights.shape(0)), n_threads, [&](std::int64_t held) {
        fit_logistic(rows, fold.data(), static_cast<std::int32_t>(held), penalty, tolerance,
                     {weights.data() + held * size, size});
    });
}

NumpyMatrix predict_pieces(nb::handle pieces, Matrix<std::int32_t> codes, Matrix<double> values,
                           int n_threads) {
    const auto numbers = [&](const char* name) {
        return nb::cast<Vector<double>>(pieces.attr(name));
    };
    const auto places = [&](const char* name) {
        return nb::cast<Vector<std::int64_t>>(pieces.attr(name));
    };
    const auto intercept = numbers("intercept"), label_score = numbers("label_score"),
               mean = numbers("mean"), scale = numbers("scale"),
               first_value = numbers("first_value"), left = numbers("left"),
               coefficient = numbers("coefficient"), missing_score = numbers("missing_score");
    const auto first_label = places("first_label"), first_piece = places("first_piece");
    const auto n_classes = intercept.shape(0), n_numeric = mean.shape(0);
    const auto ends_at = [](const Vector<std::int64_t>& first, std::size_t n) {
        return first.shape(0) > 0 && std::ranges::is_sorted(view(first)) && first.data()[0] == 0 &&
               first.data()[first.shape(0) - 1] == static_cast<std::int64_t>(n);
    };
    require(ends_at(first_label, label_score.shape(0) / n_classes) &&
                first_label.shape(0) == codes.shape(0) + 1,
            "label_score needs one row per label of codes");
    require(ends_at(first_piece, left.shape(0)) && first_piece.shape(0) == n_numeric + 1,
            "first_piece needs one place per numeric feature");
    require(values.shape(0) == n_numeric && scale.shape(0) == n_numeric &&
                missing_score.shape(0) == n_numeric * n_classes,
            "mean, scale and missing_score need one entry per row of values");
    require(first_value.shape(0) == left.shape(0) &&
                coefficient.shape(0) == 3 * n_classes * left.shape(0),
            "first_value and coefficient need one entry per piece");
    require(codes.shape(1) == values.shape(1), "codes and values differ in rows");
    const PiecewiseScore score{static_cast<std::int32_t>(n_classes),
                               nb::cast<double>(pieces.attr("max_deviation")),
                               view(intercept),
                               view(first_label),
                               view(label_score),
                               view(mean),
                               view(scale),
                               view(first_piece),
                               view(first_value),
                               view(left),
                               view(coefficient),
                               view(missing_score)};
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    std::vector<double> result(values.shape(1) * n_classes);
    {
        nb::gil_scoped_release release;
        constexpr std::int64_t block = 1 << 10;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            const auto first = b * block, last = std::min(n_rows, first + block);
            score.add_up(codes.data(), values.data(), n_rows, first, last, result.data());
            normalise_rows(last - first, score.n_classes, result.data() + first * score.n_classes);
        });
    }
    return to_numpy(std::move(result), values.shape(1));
}

}  // namespace

void bind_weights(nb::module_& m) {
    m.def("level_weights", &level_weights_of, "tree"_a);
    m.def("weigh_levels", &weigh_levels_of, "tree"_a, "log_p"_a, "level_weight"_a);
    m.def("cross_fit_levels", &cross_fit_levels_of, "factors"_a, "weights"_a, "columns"_a, "y"_a,
          "row_weight"_a.none(), "block"_a, "n_blocks"_a, "n_levels"_a, "n_threads"_a);
    m.def("fit_conditional", &fit_conditional_of, "features"_a, "offset"_a, "y"_a,
          "row_weight"_a.none(), "centre"_a, "penalty"_a);
    m.def("fit_logistic", &fit_logistic_of, "index"_a, "value"_a, "n_indicators"_a, "y"_a,
          "row_weight"_a.none(), "fold"_a, "penalty"_a, "tolerance"_a, "weights"_a, "n_threads"_a);
    m.def("predict_pieces", &predict_pieces, "pieces"_a, "codes"_a, "values"_a, "n_threads"_a);
}

}  // namespace priorwise
