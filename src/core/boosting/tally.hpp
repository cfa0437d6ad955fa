// Sums of the slopes of rows by bin.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace priorwise {

// Add two numbers to two others, in one register where the compiler knows how.
inline void add_two(const double* from, double* to) {
#ifdef __GNUC__
    using Two [[gnu::vector_size(16)]] = double;
    Two sum, term;
    std::memcpy(&sum, to, sizeof sum);
    std::memcpy(&term, from, sizeof term);
    sum += term;
    std::memcpy(to, &sum, sizeof sum);
#else
    for (int lane = 0; lane < 2; ++lane) to[lane] += from[lane];
#endif
}

// Add the slopes of a block of rows, kSize numbers a row (0: `size`), to the sums of their bins.
// Even and odd rows may have separate sums, so that an addition need not wait for the one before.
template <int kSize>
void tally(const std::uint8_t* bin, std::span<const std::int32_t> rows, const double* slope,
           std::size_t size, double* even, double* odd) {
    const std::size_t n = kSize ? kSize : size;
    const auto add = [=](std::size_t i, std::int32_t r, double* sums) {
        auto* at = sums + bin[r] * n;
        const auto* own = slope + i * n;
        for (std::size_t j = 0; j < n; j += 2) add_two(own + j, at + j);
    };
    std::size_t i = 0;
    for (; i + 1 < rows.size(); i += 2) {
        add(i, rows[i], even);
        add(i + 1, rows[i + 1], odd);
    }
    if (i < rows.size()) add(i, rows[i], even);
}

using Tally = decltype(&tally<0>);

inline Tally tally_of(std::size_t size) {
    switch (size) {
        case 2:
            return tally<2>;
        case 6:
            return tally<6>;
        case 8:
            return tally<8>;
        case 10:
            return tally<10>;
        default:
            return tally<0>;
    }
}

}  // namespace priorwise
