// Sums of the slopes of rows by bin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace priorwise {

// The slopes g and h of a row and a score, or sums of them, in one whole number: g in the upper 32
// bits, h in the lower. Both are multiples of a unit so large that no sum of all rows overflows.
// Sums of whole numbers are exact: the same in any order of rows and as differences.
using Slope = std::int64_t;

inline Slope pack_slope(Slope g, Slope h) {
    return g * (Slope{1} << 32) + h;
}
inline double second_slope(Slope slope) {
    return static_cast<double>(slope & 0xFFFFFFFF);
}
inline double first_slope(Slope slope) {
    return static_cast<double>(slope >> 32);
}

// Where the sums of a feature begin in a histogram.
struct HistogramPlace {
    std::size_t feature, start;
};

// Add kWidth numbers (0: `width`) to others, two in one register where the compiler knows how.
template <int kWidth>
void add_slopes(const Slope* from, Slope* to, std::size_t width) {
    const std::size_t n = kWidth ? kWidth : width;
    std::size_t k = 0;
#ifdef __GNUC__
    using Two [[gnu::vector_size(16)]] = Slope;
    for (; k + 1 < n; k += 2) {
        Two sum, term;
        std::memcpy(&sum, to + k, sizeof sum);
        std::memcpy(&term, from + k, sizeof term);
        sum += term;
        std::memcpy(to + k, &sum, sizeof sum);
    }
#endif
    for (; k < n; ++k) to[k] += from[k];
}

// Add the slopes of rows, kWidth numbers a row (0: `width`), to the sums of their bins. `bins` has
// a row of `n_features` bins for every row.
template <int kWidth>
void tally(const std::uint8_t* bins, std::size_t n_features, std::span<const std::int32_t> rows,
           const Slope* slopes, std::size_t width, std::span<const HistogramPlace> places,
           Slope* sums) {
    constexpr std::size_t kAhead = 16;  // rows between a prefetch and the use
    const std::size_t n = kWidth ? kWidth : width;
    for (std::size_t i = 0; i < rows.size(); ++i) {
#ifdef __GNUC__
        if (i + kAhead < rows.size()) {
            const auto next = static_cast<std::size_t>(rows[i + kAhead]);
            __builtin_prefetch(bins + next * n_features);
            __builtin_prefetch(slopes + next * n);
        }
#endif
        const auto row = static_cast<std::size_t>(rows[i]);
        const auto* bin = bins + row * n_features;
        Slope slope[kWidth ? kWidth : 1];
        if constexpr (kWidth > 0) std::memcpy(slope, slopes + row * n, sizeof slope);
        const auto* own = kWidth ? slope : slopes + row * n;
        for (const auto& [feature, start] : places)
            add_slopes<kWidth>(own, sums + start + bin[feature] * n, n);
    }
}

using Tally = decltype(&tally<0>);

inline Tally tally_of(std::size_t width) {
    constexpr Tally kTallies[] = {tally<0>, tally<1>, tally<2>, tally<3>, tally<4>,
                                  tally<5>, tally<6>, tally<7>, tally<8>};
    return kTallies[width < std::size(kTallies) ? width : 0];
}

}  // namespace priorwise
