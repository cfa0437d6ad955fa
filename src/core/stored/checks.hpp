// Whether numbers that were read from a file are what they should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace priorwise {

// Whether each row of `width` numbers is a distribution: none negative, with a sum that differs
// from one by less than `tolerance`. NaN is no distribution. A width known to the compiler is
// faster.
template <std::size_t kWidth = 0, class T>
bool are_distributions(std::span<const T> rows, std::size_t width, double tolerance) {
    if constexpr (kWidth == 0)
        if (width == 2) return are_distributions<2>(rows, 2, tolerance);
    const auto step = kWidth == 0 ? width : kWidth;
    bool all = true;
    for (std::size_t begin = 0; begin < rows.size(); begin += step) {
        double sum = 0.0;
        for (std::size_t i = begin; i < begin + step; ++i) {
            all &= rows[i] >= T{0};
            sum += static_cast<double>(rows[i]);
        }
        all &= std::abs(sum - 1.0) < tolerance;
    }
    return all;
}

// Whether all numbers are finite and from `least` to `most`.
template <class T>
bool are_within(std::span<const T> numbers, double least, double most) {
    const auto largest = static_cast<double>(std::numeric_limits<T>::max());
    const auto low = std::max(least, -largest), high = std::min(most, largest);
    bool all = true;
    for (const double number : numbers) all &= (number >= low) & (number <= high);
    return all;
}

}  // namespace priorwise
