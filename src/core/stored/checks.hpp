// Whether numbers that were read from a file are what they should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace priorwise {

// Whether all numbers are finite and from `least` to `most`.
template <class T>
bool are_within(std::span<const T> numbers, double least, double most) {
    constexpr auto kLargest = std::numeric_limits<T>::max(),
                   kInf = std::numeric_limits<T>::infinity();
    auto low = static_cast<T>(std::clamp<double>(least, -kLargest, kLargest));
    auto high = static_cast<T>(std::clamp<double>(most, -kLargest, kLargest));
    // The limits are rounded inwards: numbers are compared in their own type, several at a time.
    if (low < least) low = std::nextafter(low, kInf);
    if (high > most) high = std::nextafter(high, -kInf);
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> others = 0;
    for (const auto number : numbers) others |= !(number >= low) | !(number <= high);
    return others == 0;
}

}  // namespace priorwise
