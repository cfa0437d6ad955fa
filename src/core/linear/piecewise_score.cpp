#include "linear/piecewise_score.hpp"

#include <algorithm>
#include <cmath>

namespace priorwise {
namespace {

void add(const double* terms, std::int32_t n_classes, double* score) {
    for (std::int32_t y = 0; y < n_classes; ++y) score[y] += terms[y];
}

}  // namespace

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
