// Whether numbers that were read from a file are what they should be.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace priorwise {

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
