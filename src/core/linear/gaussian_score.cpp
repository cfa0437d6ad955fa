#include "linear/gaussian_score.hpp"

#include <vector>

#include "common/dot.hpp"
#include "common/interrupt.hpp"

namespace priorwise {

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

}  // namespace priorwise
