#include "linear/kernel_score.hpp"

#include <algorithm>
#include <vector>

#include "common/dot.hpp"
#include "common/fast_exp.hpp"
#include "common/interrupt.hpp"

namespace priorwise {

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

}  // namespace priorwise
