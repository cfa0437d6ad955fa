// Whether numbers that were read from a file are what they should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace priorwise {

// Whether each row of `width` numbers is a distribution: none negative, with a sum that differs
// from one by less than `tolerance`. NaN is no distribution. Two classes, which are frequent, are
// compared many rows at once.
template <class T>
bool are_distributions(std::span<const T> rows, std::size_t width, double tolerance) {
    int others = 0;
    if (width == 2) {
        const auto most = static_cast<T>(tolerance);
        for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
            const T first = rows[i], second = rows[i + 1], step = first + second - T{1};
            others |= static_cast<int>(!(first >= T{0})) | static_cast<int>(!(second >= T{0})) |
                      static_cast<int>(!(std::abs(step) < most));
        }
        return others == 0;
    }
    for (std::size_t begin = 0; begin < rows.size(); begin += width) {
        double sum = 0.0;
        for (std::size_t i = begin; i < begin + width; ++i) {
            others |= static_cast<int>(!(rows[i] >= T{0}));
            sum += static_cast<double>(rows[i]);
        }
        others |= static_cast<int>(!(std::abs(sum - 1.0) < tolerance));
    }
    return others == 0;
}

// Whether all numbers are finite and from `least` to `most`.
template <class T>
bool are_within(std::span<const T> numbers, double least, double most) {
    const auto largest = static_cast<double>(std::numeric_limits<T>::max());
    const auto low = std::max(least, -largest), high = std::min(most, largest);
    int others = 0;
    for (const double number : numbers)
        others |= static_cast<int>(!(number >= low)) | static_cast<int>(!(number <= high));
    return others == 0;
}

}  // namespace priorwise
