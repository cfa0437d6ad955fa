// Weight of the rows of a node on the second side of two splits.
#pragma once

#include <cstdint>
#include <utility>

namespace priorwise {

// Whether a row is on the second side of one split and of another, as two halves of a word.
using Sides = std::uint64_t;
constexpr Sides both_sides(bool one, bool two) {
    return static_cast<Sides>(one) | static_cast<Sides>(two) << 32;
}

// Weight of rows on the second side of two splits.
template <class Count>
struct PairCount {
    Count first{}, second{};

    void add(Sides sides, Count weight) {
        first += sides & 1U ? weight : Count{};
        second += sides >> 32 ? weight : Count{};
    }
    void add(const PairCount& other) { first += other.first, second += other.second; }
    void take(const PairCount& other) { first -= other.first, second -= other.second; }
    std::pair<Count, Count> sums() const { return {first, second}; }
};

// Whole weights: both in one word, so that a row is one addition.
template <>
struct PairCount<std::int64_t> {
    std::uint64_t both = 0;

    void add(Sides sides, std::int64_t weight) { both += sides * static_cast<Sides>(weight); }
    void add(const PairCount& other) { both += other.both; }
    void take(const PairCount& other) { both -= other.both; }
    std::pair<std::int64_t, std::int64_t> sums() const {
        return {static_cast<std::int64_t>(both & 0xFFFFFFFFU),
                static_cast<std::int64_t>(both >> 32)};
    }
};

}  // namespace priorwise
