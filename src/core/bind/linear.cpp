// Bindings of the kernels of src/core/linear.
#include "bind/shared/define.hpp"
#include "common/parallel.hpp"
#include "counts/factor.hpp"
#include "linear/fits.hpp"
#include "linear/scores.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kMostInts = std::numeric_limits<std::int32_t>::max() / 4;

NumpyVector<double> fit_conditional_of(Array<const float, 3> features, Vector<double> offset,
                                       Vector<std::int32_t> y,
                                       std::optional<Vector<double>> row_weight,
                                       Vector<double> centre, Vector<double> penalty) {
    const auto n_classes = features.shape(1), n_parameters = features.shape(2) + n_classes;
    check_range(n_classes, 1, kMostInts, "classes of features");
    check_range(features.shape(2), 0, kMostInts, "parameters of features");
    check_size(offset.size(), n_classes, "offset", "class");
    check_size(y.size(), features.shape(0), "y", "row");
    check_size(centre.size(), n_parameters, "centre", "parameter");
    check_size(penalty.size(), n_parameters, "penalty", "parameter");
    auto values = without_gil([&] {
        check_codes(y, static_cast<std::int64_t>(n_classes), "y");
        check_weights(row_weight, y.size(), "row_weight");
        check_finite(std::span<const float>(features), "features");
        check_finite(view(centre), "centre");
        check_finite(view(penalty), "penalty");
        for (const double p : penalty) require(p >= 0.0, "penalty must not be negative");
        const ConditionalRows rows{static_cast<std::int64_t>(features.shape(0)),
                                   static_cast<std::int32_t>(n_classes),
                                   static_cast<std::int32_t>(features.shape(2)),
                                   features.data(),
                                   offset,
                                   y.data(),
                                   data_or_null(row_weight)};
        return fit_conditional(rows, {centre, penalty});
    });
    return to_numpy(std::move(values));
}

// Rows of as many indices and values as there are weights, without classes.
template <class Weights>
LogisticRows make_logistic_rows(const Matrix<std::int32_t>& index, const Matrix<float>& value,
                                std::int32_t n_indicators, std::size_t n_rows,
                                const Weights& weights) {
    check_size(index.shape(0), n_rows, "index", "row");
    check_size(value.shape(0), n_rows, "value", "row");
    check_range(n_indicators, 0, kMostInts, "n_indicators");
    check_range(index.shape(1), 0, kMostInts, "columns of index");
    check_range(value.shape(1), 0, kMostInts, "columns of value");
    check_range(weights.shape(1), 1, kMostInts, "classes of weights");
    const LogisticRows rows{static_cast<std::int64_t>(n_rows),
                            static_cast<std::int32_t>(weights.shape(1)),
                            static_cast<std::int32_t>(index.shape(1)),
                            n_indicators,
                            static_cast<std::int32_t>(value.shape(1)),
                            index.data(),
                            value.data(),
                            nullptr,
                            nullptr};
    check_size(weights.shape(2), static_cast<std::size_t>(rows.n_weights()), "weights",
               "intercept, indicator and value");
    return rows;
}

void fit_logistic_of(Matrix<std::int32_t> index, Matrix<float> value, std::int32_t n_indicators,
                     Vector<std::int32_t> y, std::optional<Vector<double>> row_weight,
                     Vector<std::int32_t> fold, double penalty, double tolerance,
                     Array<double, 3> weights, int n_threads) {
    auto rows = make_logistic_rows(index, value, n_indicators, y.size(), weights);
    rows.y = y.data();
    rows.row_weight = data_or_null(row_weight);
    check_size(fold.size(), y.size(), "fold", "row");
    check_positive(penalty, "penalty");
    check_not_negative(tolerance, "tolerance");
    const GilRelease release;
    check_codes(y, rows.n_classes, "y");
    check_codes(index, n_indicators, "index", -1, -1);
    check_weights(row_weight, y.size(), "row_weight");
    check_finite(std::span<const float>(value), "value");
    check_finite(std::span<const double>(weights.data(), weights.size()), "weights");
    const auto size = weights.shape(1) * weights.shape(2);
    parallel_for(static_cast<std::int64_t>(weights.shape(0)), n_threads, [&](std::int64_t held) {
        fit_logistic(rows, fold.data(), static_cast<std::int32_t>(held), penalty, tolerance,
                     {weights.data() + held * size, size});
    });
}

// Probabilities by the weights of the fold of each row; NaN for rows of a fold without weights.
NumpyMatrix predict_logistic_of(Matrix<std::int32_t> index, Matrix<float> value,
                                std::int32_t n_indicators, Vector<std::int32_t> fold,
                                Array<const double, 3> weights, int n_threads) {
    const auto rows = make_logistic_rows(index, value, n_indicators, fold.size(), weights);
    const auto n_classes = weights.shape(1), size = n_classes * weights.shape(2);
    require_memory(8.0 * static_cast<double>(fold.size()) * static_cast<double>(n_classes),
                   index.size() + value.size(), "the number of rows", fold.size());
    std::vector<double> proba(fold.size() * n_classes, std::numeric_limits<double>::quiet_NaN());
    without_gil([&] {
        check_codes(index, n_indicators, "index", -1, -1);
        check_finite(std::span<const double>(weights.data(), weights.size()), "weights");
        struct Part {
            std::size_t fold;
            std::vector<std::int64_t> rows;
        };
        constexpr std::size_t block = 1 << 9;
        std::vector<Part> parts;
        std::vector<std::size_t> last(weights.shape(0));  // of each fold, from 1 on; 0: none
        for (std::size_t row = 0; row < fold.size(); ++row) {
            if (fold[row] < 0 || std::cmp_greater_equal(fold[row], last.size())) continue;
            const auto own = static_cast<std::size_t>(fold[row]);
            if (last[own] == 0 || parts[last[own] - 1].rows.size() == block) {
                parts.push_back({own, {}});
                last[own] = parts.size();
            }
            parts[last[own] - 1].rows.push_back(static_cast<std::int64_t>(row));
        }
        parallel_for(static_cast<std::int64_t>(parts.size()), n_threads, [&](std::int64_t i) {
            const auto& part = parts[static_cast<std::size_t>(i)];
            predict_logistic(rows, part.rows, {weights.data() + part.fold * size, size},
                             proba.data());
        });
    });
    return to_numpy(std::move(proba), {fold.size(), n_classes});
}

// Places in an array of n entries where one part after the other begins.
void check_starts(std::span<const std::int64_t> first, std::size_t n_parts, std::size_t n,
                  std::int64_t least, const char* name) {
    check_size(first.size(), n_parts + 1, name, "feature, and one more");
    bool rising = first.front() == 0 && first.back() == static_cast<std::int64_t>(n);
    for (std::size_t i = 0; i < n_parts; ++i)
        rising = rising && first[i] <= first[i + 1] && first[i + 1] - first[i] >= least;
    require(rising, name, " must rise from 0 to the number of entries");
}

PiecewiseScore make_piecewise_score(Vector<double> intercept, Vector<std::int64_t> first_label,
                                    Vector<double> label_score, Vector<double> mean,
                                    Vector<double> scale, double max_deviation,
                                    Vector<std::int64_t> first_piece, Vector<double> first_value,
                                    Vector<double> left, Vector<double> coefficient,
                                    Vector<double> missing_score) {
    const auto n_classes = intercept.size(), n_numeric = mean.size();
    check_range(n_classes, 1, kMostInts, "classes of intercept");
    require(first_label.size() > 0, "first_label is empty");
    require(label_score.size() % n_classes == 0, "label_score needs one row per label");
    check_starts(first_label, first_label.size() - 1, label_score.size() / n_classes, 0,
                 "first_label");
    check_starts(first_piece, n_numeric, left.size(), 1, "first_piece");
    check_size(scale.size(), n_numeric, "scale", "numeric feature");
    check_size(missing_score.size(), n_numeric * n_classes, "missing_score",
               "numeric feature and class");
    check_size(first_value.size(), left.size(), "first_value", "piece");
    check_size(coefficient.size(), 3 * n_classes * left.size(), "coefficient",
               "piece, power and class");
    check_not_negative(max_deviation, "max_deviation");
    return {static_cast<std::int32_t>(n_classes),
            max_deviation,
            copy(intercept),
            copy(first_label),
            copy(label_score),
            copy(mean),
            copy(scale),
            copy(first_piece),
            copy(first_value),
            copy(left),
            copy(coefficient),
            copy(missing_score)};
}

NumpyMatrix predict_pieces(const PiecewiseScore& pieces, Matrix<std::int32_t> codes,
                           Matrix<double> values, int n_threads) {
    check_size(codes.shape(0), pieces.first_label.size() - 1, "codes", "nominal feature");
    check_size(values.shape(0), pieces.mean.size(), "values", "numeric feature");
    check_size(codes.shape(1), values.shape(1), "columns of codes", "row of values");
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    const auto n_classes = static_cast<std::size_t>(pieces.n_classes);
    require_memory(8.0 * static_cast<double>(n_rows) * pieces.n_classes,
                   codes.size() + values.size(), "the number of rows", n_rows);
    std::vector<double> result(values.shape(1) * n_classes);
    without_gil([&] {
        constexpr std::int64_t block = 1 << 10;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            const auto first = b * block, last = std::min(n_rows, first + block);
            pieces.add_up(codes.data(), values.data(), n_rows, first, last, result.data());
            normalise_rows(last - first, pieces.n_classes,
                           result.data() + first * pieces.n_classes);
        });
    });
    return to_numpy(std::move(result), {values.shape(1), n_classes});
}

NumpyMatrix predict_kernel_scores(Matrix<std::int32_t> row_index, Matrix<float> row_value,
                                  Matrix<std::int32_t> index, Matrix<float> value, double rate,
                                  Vector<double> intercept, Matrix<double> coefficient,
                                  int n_threads) {
    const auto n_landmarks = coefficient.shape(1), n_classes = intercept.size();
    check_range(n_landmarks, 0, kMostInts, "columns of coefficient");
    check_range(n_classes, 1, kMostInts, "classes of intercept");
    check_size(coefficient.shape(0), n_classes, "coefficient", "class");
    check_size(index.shape(1), n_landmarks, "a row of index", "column of coefficient");
    check_size(value.shape(1), n_landmarks, "a row of value", "column of coefficient");
    check_size(row_value.shape(0), row_index.shape(0), "row_value", "row of row_index");
    check_size(row_index.shape(1), index.shape(0), "a row of row_index", "row of index");
    check_size(row_value.shape(1), value.shape(0), "a row of row_value", "row of value");
    check_not_negative(rate, "rate");
    const KernelScore score{static_cast<std::int32_t>(n_landmarks),
                            static_cast<std::int32_t>(index.shape(0)),
                            static_cast<std::int32_t>(value.shape(0)),
                            static_cast<std::int32_t>(n_classes),
                            rate,
                            intercept,
                            coefficient,
                            index,
                            value};
    const auto n_rows = static_cast<std::int64_t>(row_index.shape(0));
    require_memory(8.0 * static_cast<double>(n_rows) * static_cast<double>(n_classes),
                   row_index.size() + row_value.size(), "the number of rows", n_rows);
    std::vector<double> result(row_index.shape(0) * n_classes);
    without_gil([&] {
        constexpr std::int64_t block = 1 << 7;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            const auto first = b * block, last = std::min(n_rows, first + block);
            score.add_up(row_index.data(), row_value.data(), first, last, result.data());
        });
    });
    return to_numpy(std::move(result), {row_index.shape(0), n_classes});
}

// Scores, rows x classes, or their terms, rows x (values x classes).
NumpyMatrix predict_gaussians(Matrix<double> values, Matrix<std::int32_t> place,
                              Matrix<double> mean, Array<const double, 3> precision, bool split,
                              int n_threads) {
    const auto n_rows = static_cast<std::int64_t>(values.shape(0));
    const auto n_values = values.shape(1), n_classes = place.shape(1);
    check_range(n_classes, 1, kMostInts, "columns of place");
    check_range(n_values, 0, kMostInts, "columns of values");
    check_size(place.shape(0), values.shape(0), "place", "row of values");
    check_size(mean.shape(1), n_values, "a row of mean", "column of values");
    check_size(precision.shape(0), mean.shape(0), "precision", "row of mean");
    check_size(precision.shape(1), n_values, "a matrix of precision", "column of values");
    check_size(precision.shape(2), n_values, "a row of precision", "column of values");
    const auto n_terms = split ? values.shape(0) * n_values * n_classes : 0;
    require_memory(
        8.0 * (static_cast<double>(n_rows) * static_cast<double>(n_classes) +
               (split ? static_cast<double>(n_rows) * static_cast<double>(n_values * n_classes)
                      : 0.0)),
        values.size() + place.size(), "the number of rows", n_rows);
    const GaussianScore gaussians{static_cast<std::int32_t>(n_values),
                                  static_cast<std::int32_t>(n_classes),
                                  mean,
                                  {precision.data(), precision.size()}};
    std::vector<double> score(values.shape(0) * n_classes), terms(n_terms);
    without_gil([&] {
        check_codes(place, static_cast<std::int64_t>(mean.shape(0)), "place");
        constexpr std::int64_t block = 1 << 7;
        parallel_for((n_rows + block - 1) / block, n_threads, [&](std::int64_t b) {
            const auto first = b * block, last = std::min(n_rows, first + block);
            gaussians.add_up(values.data(), place.data(), first, last, score.data(),
                             split ? terms.data() : nullptr);
        });
    });
    if (split) return to_numpy(std::move(terms), {values.shape(0), n_values * n_classes});
    return to_numpy(std::move(score), {values.shape(0), n_classes});
}

}  // namespace

void bind_linear(nb::module_& m) {
    auto pieces =
        define_class(m, "PiecewiseScore", &make_piecewise_score, "intercept", "first_label",
                     "label_score", "mean", "scale", "max_deviation", "first_piece", "first_value",
                     "left", "coefficient", "missing_score");
    define_arrays(pieces, "intercept", &PiecewiseScore::intercept, "first_label",
                  &PiecewiseScore::first_label, "label_score", &PiecewiseScore::label_score, "mean",
                  &PiecewiseScore::mean, "scale", &PiecewiseScore::scale, "first_piece",
                  &PiecewiseScore::first_piece, "first_value", &PiecewiseScore::first_value, "left",
                  &PiecewiseScore::left, "coefficient", &PiecewiseScore::coefficient,
                  "missing_score", &PiecewiseScore::missing_score);
    pieces.def_ro("max_deviation", &PiecewiseScore::max_deviation);

    define(m, "fit_conditional", &fit_conditional_of, "features", "offset", "y", "row_weight",
           "centre", "penalty");
    define(m, "fit_logistic", &fit_logistic_of, "index", "value", "n_indicators", "y", "row_weight",
           "fold", "penalty", "tolerance", "weights", "n_threads");
    define(m, "predict_logistic", &predict_logistic_of, "index", "value", "n_indicators", "fold",
           "weights", "n_threads");
    define(m, "predict_gaussians", &predict_gaussians, "values", "place", "mean", "precision",
           "split", "n_threads");
    define(m, "predict_kernel_scores", &predict_kernel_scores, "row_index", "row_value", "index",
           "value", "rate", "intercept", "coefficient", "n_threads");
    define(m, "predict_pieces", &predict_pieces, "pieces", "codes", "values", "n_threads");
}

}  // namespace priorwise
