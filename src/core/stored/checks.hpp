// Whether numbers that were read from a file are what they should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace priorwise {

// As wide as T, so that several numbers are compared at a time.
template <class T>
using MaskOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Whether all numbers are from `least` to `most`.
template <std::integral T>
bool are_within(std::span<const T> numbers, double least, double most) {
    if (numbers.empty()) return true;
    const auto [low, high] = std::ranges::minmax(numbers);
    return static_cast<double>(low) >= least && static_cast<double>(high) <= most;
}

// Whether all numbers are finite and from `least` to `most`.
template <std::floating_point T>
bool are_within(std::span<const T> numbers, double least, double most) {
    constexpr auto kLargest = std::numeric_limits<T>::max(),
                   kInf = std::numeric_limits<T>::infinity();
    auto low = static_cast<T>(std::clamp<double>(least, -kLargest, kLargest));
    auto high = static_cast<T>(std::clamp<double>(most, -kLargest, kLargest));
    // The limits are rounded inwards: numbers are compared in their own type, several at a time.
    if (low < least) low = std::nextafter(low, kInf);
    if (high > most) high = std::nextafter(high, -kInf);
    MaskOf<T> others = 0;
    for (const auto number : numbers) others |= !(number >= low) | !(number <= high);
    return others == 0;
}

// Most that the sum of a row of probabilities in 32 bits may differ from one.
constexpr double kMaxRounding = 1e-3;

// Whether the numbers of each row are at least zero and sum to one, but for rounding.
template <std::floating_point T>
bool are_distributions(std::span<const T> rows, std::size_t width) {
    const auto check = [&](auto n, auto zero) {
        const auto most = static_cast<decltype(zero)>(kMaxRounding);
        MaskOf<T> others = 0;
        for (std::size_t row = 0; row < rows.size() / n; ++row) {
            auto excess = zero - 1;
            for (std::size_t i = 0; i < n; ++i) {
                const auto number = rows[row * n + i];
                others |= !(number >= 0);
                excess += number;
            }
            others |= !(std::abs(excess) <= most);
        }
        return others == 0;
    };
    // Rows of two numbers are frequent: with this constant, several are summed at a time.
    if (width == 2) return check(std::integral_constant<std::size_t, 2>(), T{0});
    return width > 0 && check(width, 0.0);
}

}  // namespace priorwise
