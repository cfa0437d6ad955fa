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

}  // namespace

void GaussianScore::add_up(const double* values, const std::int32_t* place, std::int64_t first,
                           std::int64_t last, double* score, double* terms) const {
    const auto n = static_cast<std::size_t>(n_values);
    std::vector<double> step(n);
    for (auto row = first; row < last; ++row) {
        poll_every<16>(row);
        for (std::int32_t y = 0; y < n_classes; ++y) {
            const auto g = static_cast<std::size_t>(place[row * n_classes + y]);
            for (std::size_t i = 0; i < n; ++i)
                step[i] = values[row * n_values + static_cast<std::int64_t>(i)] - mean[g * n + i];
            double sum = 0.0;
            if (terms == nullptr) {  // The matrix is symmetric: half of it is enough.
                for (std::size_t i = 0; i < n; ++i) {
                    const double* own = precision.data() + (g * n + i) * n;
                    const double below = dot(own, step.data(), static_cast<std::int32_t>(i));
                    sum -= step[i] * (below + 0.5 * own[i] * step[i]);
                }
                score[row * n_classes + y] = sum;
                continue;
            }
            for (std::size_t i = 0; i < n; ++i) {
                const double* own = precision.data() + (g * n + i) * n;
                const double term = -0.5 * step[i] * dot(own, step.data(), n_values);
                sum += term;
                terms[(row * n_values + static_cast<std::int64_t>(i)) * n_classes + y] = term;
            }
            score[row * n_classes + y] = sum;
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
        const auto* numbers = row_value + row * n_values;
        std::ranges::copy(n_known, label_distance.begin());
        for (std::int32_t j = 0; j < n_indices; ++j) {
            const auto code = codes[j];
            if (code < 0) continue;
            const auto* own = index.data() + j * n;
            for (std::size_t l = 0; l < n; ++l) label_distance[l] += 1 - 2 * (own[l] == code);
        }
        for (std::size_t l = 0; l < n; ++l) distance[l] = label_distance[l];
        for (std::int32_t q = 0; q < n_values; ++q) {
            const double number = numbers[q];
            const auto* own = value.data() + q * n;
            for (std::size_t l = 0; l < n; ++l) {
                const double step = number - own[l];
                distance[l] += step * step;
            }
        }
        for (std::size_t l = 0; l < n; ++l) distance[l] = exp_of_minus(rate * distance[l]);
        double* own_score = score + row * n_classes;
        for (std::int32_t y = 0; y < n_classes; ++y)
            own_score[y] =
                intercept[y] + dot(coefficient.data() + y * n, distance.data(), n_landmarks);
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
