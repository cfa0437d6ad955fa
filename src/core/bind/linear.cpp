// Bindings of the kernels of src/core/linear.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "common/parallel.hpp"
#include "counts/factor.hpp"
#include "linear/conditional_fit.hpp"
#include "linear/kernel_score.hpp"
#include "linear/logistic.hpp"
#include "linear/piecewise_score.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

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

NumpyMatrix predict_kernel_scores(Matrix<std::int32_t> row_index, Matrix<float> row_value,
                                  Matrix<std::int32_t> index, Matrix<float> value, double rate,
                                  Vector<double> intercept, Matrix<double> coefficient,
                                  int n_threads) {
    const auto n_landmarks = coefficient.shape(1), n_classes = intercept.shape(0);
    require(index.shape(1) == n_landmarks && value.shape(1) == n_landmarks,
            "index and value need one column per column of coefficient");
    require(coefficient.shape(0) == n_classes, "coefficient needs one row per class");
    require(row_index.shape(0) == row_value.shape(0), "row_index and row_value differ in rows");
    require(row_index.shape(1) == index.shape(0) && row_value.shape(1) == value.shape(0),
            "rows and landmarks differ in the number of indices or values");
    require(rate >= 0.0, "rate must be at least 0");
    const KernelScore score{static_cast<std::int32_t>(n_landmarks),
                            static_cast<std::int32_t>(index.shape(0)),
                            static_cast<std::int32_t>(value.shape(0)),
                            static_cast<std::int32_t>(n_classes),
                            rate,
                            view(intercept),
                            {coefficient.data(), coefficient.size()},
                            {index.data(), index.size()},
                            {value.data(), value.size()}};
    const auto n_rows = static_cast<std::int64_t>(row_index.shape(0));
    std::vector<double> result(row_index.shape(0) * n_classes);
    {
        nb::gil_scoped_release release;
        constexpr std::int64_t block = 1 << 7;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            const auto first = b * block, last = std::min(n_rows, first + block);
            score.add_up(row_index.data(), row_value.data(), first, last, result.data());
        });
    }
    return to_numpy(std::move(result), row_index.shape(0));
}

}  // namespace

void bind_linear(nb::module_& m) {
    m.def("predict_kernel_scores", &predict_kernel_scores, "row_index"_a, "row_value"_a, "index"_a,
          "value"_a, "rate"_a, "intercept"_a, "coefficient"_a, "n_threads"_a);
    m.def("fit_conditional", &fit_conditional_of, "features"_a, "offset"_a, "y"_a,
          "row_weight"_a.none(), "centre"_a, "penalty"_a);
    m.def("fit_logistic", &fit_logistic_of, "index"_a, "value"_a, "n_indicators"_a, "y"_a,
          "row_weight"_a.none(), "fold"_a, "penalty"_a, "tolerance"_a, "weights"_a, "n_threads"_a);
    m.def("predict_pieces", &predict_pieces, "pieces"_a, "codes"_a, "values"_a, "n_threads"_a);
}

}  // namespace priorwise
