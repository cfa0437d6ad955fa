#include "cuts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace priorwise {

std::vector<double> rank_values(const double* values, std::int64_t n_rows, std::int32_t* ranks) {
    std::vector<std::pair<double, std::int64_t>> sorted;
    sorted.reserve(static_cast<std::size_t>(n_rows));
    for (std::int64_t row = 0; row < n_rows; ++row) {
        ranks[row] = -1;
        if (!std::isnan(values[row])) sorted.emplace_back(values[row], row);
    }
    std::sort(sorted.begin(), sorted.end());
    std::vector<double> distinct;
    for (const auto& [value, row] : sorted) {
        if (distinct.empty() || distinct.back() != value) distinct.push_back(value);
        ranks[row] = static_cast<std::int32_t>(distinct.size()) - 1;
    }
    return distinct;
}

void cut_values(const double* values, std::int64_t n_rows, const double* cut_points,
                std::int64_t n_cuts, std::int32_t missing_code, std::int32_t* codes) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
        const double value = values[row];
        // A binary search whose steps are the same for every value: no branch to mispredict.
        const double* base = cut_points;
        std::int64_t length = n_cuts;
        while (length > 1) {
            const std::int64_t half = length / 2;
            base += base[half - 1] < value ? half : 0;
            length -= half;
        }
        auto code = static_cast<std::int32_t>(base - cut_points);
        if (length == 1) code += *base < value;
        codes[row] = std::isnan(value) ? missing_code : code;
    }
}

}  // namespace priorwise
