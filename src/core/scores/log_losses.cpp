#include "scores/log_losses.hpp"

#include <algorithm>
#include <numeric>

#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// Rows whose exponentials are computed together, several in one instruction.
constexpr std::size_t kBlock = 128;

}  // namespace

std::vector<double> sum_log_losses(const ScoreTables& tables, std::span<const std::int32_t> y,
                                   std::span<const double> weight) {
    const auto width = tables.n_classes;
    std::vector<double> losses(tables.n_tables), gap(kBlock * width), linear(kBlock);
    const double* own = tables.score;
    for (auto& loss : losses) {
        LogSum total;
        for (std::size_t first = 0; first < tables.n_rows; first += kBlock) {
            poll_interrupt();
            const auto n_rows = std::min(kBlock, tables.n_rows - first);
            for (std::size_t i = 0; i < n_rows; ++i, own += width) {
                const double largest = *std::max_element(own, own + width);
                for (std::size_t k = 0; k < width; ++k) gap[i * width + k] = largest - own[k];
                linear[i] = gap[i * width + static_cast<std::size_t>(y[first + i])];
            }
            exponentiate_minus(std::span(gap).first(n_rows * width));
            for (std::size_t i = 0; i < n_rows; ++i) {
                const double* part = gap.data() + i * width;
                if (weight[first + i] > 0.0)
                    total.add(weight[first + i], linear[i],
                              std::accumulate(part, part + width, 0.0));
            }
        }
        loss = total.total();
    }
    return losses;
}

}  // namespace priorwise
