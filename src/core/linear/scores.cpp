#include "linear/scores.hpp"

#include <algorithm>
#include <cmath>

#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

void add(const double* terms, std::int32_t n_classes, double* score) {
    for (std::int32_t y = 0; y < n_classes; ++y) score[y] += terms[y];
}

// Rows that are summed up one after the other by the same class: while its precision is in the
// cache, if the rows have the same Gaussian.
constexpr std::int64_t kRowsOfClass = 16;

// Half of a precision and the row before its place `step`, in the order of the features.
PRIORWISE_WIDE double sum_quadratic(const double* step, const double* precision, std::int32_t n) {
    double sum = 0.0;
    for (std::int32_t i = 0; i < n; ++i, precision += n) {
        const double below = dot(precision, step, i);
        sum -= step[i] * (below + 0.5 * precision[i] * step[i]);
    }
    return sum;
}

// The term of each feature goes to terms[feature * stride]; returns their sum.
PRIORWISE_WIDE double split_quadratic(const double* step, const double* precision, std::int32_t n,
                                      std::int64_t stride, double* terms) {
    double sum = 0.0;
    for (std::int32_t i = 0; i < n; ++i, precision += n) {
        const double term = -0.5 * step[i] * dot(precision, step, n);
        sum += term;
        terms[i * stride] = term;
    }
    return sum;
}

// distance, of the labels of a row and landmarks, becomes the kernel between both.
PRIORWISE_WIDE void find_similarity(const KernelScore& kernel, const float* numbers,
                                    double* distance) {
    const auto n = static_cast<std::size_t>(kernel.n_landmarks);
    const float* own = kernel.value.data();
    for (std::int32_t q = 0; q < kernel.n_values; ++q, own += n) {
        const double number = numbers[q];
        for (std::size_t l = 0; l < n; ++l) {
            const double step = number - own[l];
            distance[l] += step * step;
        }
    }
    for (std::size_t l = 0; l < n; ++l) distance[l] = exp_of_minus(kernel.rate * distance[l]);
}

PRIORWISE_WIDE void add_weighted(const KernelScore& kernel, const double* similarity,
                                 double* score) {
    const double* own = kernel.coefficient.data();
    for (std::int32_t y = 0; y < kernel.n_classes; ++y, own += kernel.n_landmarks)
        score[y] = kernel.intercept[y] + dot(own, similarity, kernel.n_landmarks);
}

}  // namespace

void GaussianScore::add_up(const double* values, const std::int32_t* place, std::int64_t first,
                           std::int64_t last, double* score, double* terms) const {
    const auto n = static_cast<std::int64_t>(n_values);
    std::vector<double> step(static_cast<std::size_t>(n));
    for (auto begin = first; begin < last; begin += kRowsOfClass) {
        poll_interrupt();
        const auto end = std::min(last, begin + kRowsOfClass);
        for (std::int32_t y = 0; y < n_classes; ++y) {
            for (auto row = begin; row < end; ++row) {
                const auto cell = row * n_classes + y;
                const double* centre = mean.data() + place[cell] * n;
                for (std::int64_t i = 0; i < n; ++i) step[i] = values[row * n + i] - centre[i];
                const double* own = precision.data() + place[cell] * n * n;
                // The matrix is symmetric: without terms half of it is enough.
                score[cell] = terms == nullptr
                                  ? sum_quadratic(step.data(), own, n_values)
                                  : split_quadratic(step.data(), own, n_values, n_classes,
                                                    terms + row * n * n_classes + y);
            }
        }
    }
}

void KernelScore::add_up(const std::int32_t* row_index, const float* row_value, std::int64_t first,
                         std::int64_t last, double* score) const {
    const auto n = static_cast<std::size_t>(n_landmarks);
    std::vector<double> distance(n);
    std::vector<std::int32_t> label_distance(n), n_known(n, 0);
    for (std::int32_t j = 0; j < n_indices; ++j)
        for (std::size_t l = 0; l < n; ++l) n_known[l] += index[j * n + l] >= 0;
    for (auto row = first; row < last; ++row) {
        poll_every<16>(row);
        const auto* codes = row_index + row * n_indices;
        std::ranges::copy(n_known, label_distance.begin());
        for (std::int32_t j = 0; j < n_indices; ++j) {
            const auto code = codes[j];
            if (code < 0) continue;
            const auto* own = index.data() + j * n;
            for (std::size_t l = 0; l < n; ++l) label_distance[l] += 1 - 2 * (own[l] == code);
        }
        for (std::size_t l = 0; l < n; ++l) distance[l] = label_distance[l];
        find_similarity(*this, row_value + row * n_values, distance.data());
        add_weighted(*this, distance.data(), score + row * n_classes);
    }
}

void PiecewiseScore::add_up(const std::int32_t* codes, const double* values, std::int64_t n_rows,
                            std::int64_t first, std::int64_t last, double* score) const {
    for (auto row = first; row < last; ++row) std::ranges::copy(intercept, score + row * n_classes);
    for (std::size_t i = 0; i + 1 < first_label.size(); ++i) {
        const auto* column = codes + static_cast<std::int64_t>(i) * n_rows;
        const double* terms = label_score.data() + first_label[i] * n_classes;
        const auto n_labels = first_label[i + 1] - first_label[i];
        for (auto row = first; row < last; ++row) {
            const std::int64_t code = column[row];
            if (code >= 0 && code < n_labels)
                add(terms + code * n_classes, n_classes, score + row * n_classes);
        }
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
        const auto* column = values + static_cast<std::int64_t>(i) * n_rows;
        const auto begin = first_piece[i], end = first_piece[i + 1];
        for (auto row = first; row < last; ++row) {
            double* out = score + row * n_classes;
            double z = (column[row] - mean[i]) / scale[i];
            if (std::isnan(z)) {
                z = 0.0;
                add(missing_score.data() + static_cast<std::int64_t>(i) * n_classes, n_classes,
                    out);
            }
            z = std::clamp(z, -max_deviation, max_deviation);
            auto piece = begin;
            for (auto p = begin + 1; p < end; ++p) piece += z >= first_value[p];
            const double u = z - left[piece];
            const double* a = coefficient.data() + piece * 3 * n_classes;
            const double* b = a + n_classes;
            const double* c = b + n_classes;
            for (std::int32_t y = 0; y < n_classes; ++y) out[y] += a[y] + (b[y] + c[y] * u) * u;
        }
    }
}

}  // namespace priorwise
