#include "cuts/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>

#include "common/interrupt.hpp"
#include "common/parallel.hpp"

namespace priorwise {

std::vector<double> rank_values(const double* values, std::int64_t n_rows, std::int32_t* ranks) {
    std::vector<std::pair<double, std::int64_t>> sorted;
    sorted.reserve(static_cast<std::size_t>(n_rows));
    for (std::int64_t row = 0; row < n_rows; ++row) {
        ranks[row] = -1;
        if (!std::isnan(values[row])) sorted.emplace_back(values[row], row);
    }
    sort_polling(sorted.begin(), sorted.end(), std::less{});
    std::vector<double> distinct;
    for (const auto& [value, row] : sorted) {
        if (distinct.empty() || distinct.back() != value) distinct.push_back(value);
        ranks[row] = static_cast<std::int32_t>(distinct.size()) - 1;
    }
    return distinct;
}

void cut_values(const double* values, std::int64_t n_rows, const double* cut_points,
                std::int64_t n_cuts, std::int32_t missing_code, std::int32_t* codes) {
    // A binary search with the same steps for every value: no branch can be mispredicted, and
    // several values are searched at once.
    constexpr std::int64_t kLanes = 8;
    const auto search = [&](std::int64_t row, auto n_lanes) {
        std::int64_t at[kLanes] = {};
        auto length = n_cuts;
        while (length > 1) {
            const auto half = length / 2;
            for (std::int64_t i = 0; i < n_lanes; ++i)
                at[i] += half * (cut_points[at[i] + half - 1] < values[row + i]);
            length -= half;
        }
        for (std::int64_t i = 0; i < n_lanes; ++i) {
            const double value = values[row + i];
            if (length == 1) at[i] += cut_points[at[i]] < value;
            codes[row + i] = std::isnan(value) ? missing_code : static_cast<std::int32_t>(at[i]);
        }
    };
    std::int64_t row = 0;
    for (; row + kLanes <= n_rows; row += kLanes)
        search(row, std::integral_constant<std::int64_t, kLanes>{});
    for (; row < n_rows; ++row) search(row, std::integral_constant<std::int64_t, 1>{});
}

void cut_table(std::span<const CutFeature> features, const double* values, std::int64_t n_rows,
               std::int32_t* codes, int n_threads) {
    constexpr std::int64_t kBlock = 1 << 14;
    const auto n_features = static_cast<std::int64_t>(features.size());
    const std::int64_t n_blocks = (n_rows + kBlock - 1) / kBlock;
    // With fewer values threads take longer to start than to work.
    if (n_features * n_rows < 50'000) n_threads = 1;
    parallel_for(n_features * n_blocks, n_threads, [&](std::int64_t task) {
        const std::int64_t i = task / n_blocks, begin = task % n_blocks * kBlock;
        const auto& feature = features[static_cast<std::size_t>(i)];
        cut_values(values + i * n_rows + begin, std::min(kBlock, n_rows - begin),
                   feature.cut_points.data(), static_cast<std::int64_t>(feature.cut_points.size()),
                   feature.missing_code, codes + feature.position * n_rows + begin);
    });
}

std::int64_t nearest_boundary(const RankedValues& ranked, const CutQuantile& cut) {
    const auto first = ranked.starts[cut.feature], last = ranked.starts[cut.feature + 1] - 1;
    const double* below = ranked.below.data();
    const auto weight_up_to = [&](std::int64_t i) {
        return cut.of_rows ? below[i] : static_cast<double>(i - first + 1);
    };
    const double ideal = cut.quantile * weight_up_to(last);
    // All the weight is no boundary between two values.
    auto above = cut.of_rows ? std::lower_bound(below + first, below + last, ideal) - below
                             : first + static_cast<std::int64_t>(std::ceil(ideal)) - 1;
    above = std::clamp(above, first, last - 1);
    const auto lower = std::max(above - 1, first);
    const bool is_lower =
        std::abs(weight_up_to(lower) - ideal) <= std::abs(weight_up_to(above) - ideal);
    return is_lower ? lower : above;
}

}  // namespace priorwise
