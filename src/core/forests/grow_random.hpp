// Growth of random trees on the same rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/fixed_log.hpp"
#include "forests/forest.hpp"
#include "trees/splits.hpp"

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

// Largest size of a copy, in bytes: it shares the cache.
constexpr std::size_t kCloseBytes = 1 << 19;

// Rows of a subtree, copied to contiguous memory.
struct CloseRows {
    std::vector<double> numbers, weight;
    std::vector<std::int32_t> codes, outcome, whole_weight, row;
    std::vector<Feature> features;

    void copy(std::span<const Feature> from, std::span<const std::int32_t> from_outcome,
              std::span<const std::int32_t> rows) {
        const auto n = rows.size();
        row.assign(rows.begin(), rows.end());
        features.assign(from.size(), Feature{});
        numbers.resize(from.size() * n);
        codes.resize(from.size() * n);
        outcome.resize(n);
        for (std::size_t i = 0; i < n; ++i) outcome[i] = from_outcome[rows[i]];
        for (std::size_t f = 0; f < from.size(); ++f) {
            if (from[f].nominal()) {
                auto* column = codes.data() + f * n;
                for (std::size_t i = 0; i < n; ++i) column[i] = from[f].code_at(rows[i]);
                features[f].code = column;
            } else {
                auto* column = numbers.data() + f * n;
                for (std::size_t i = 0; i < n; ++i) column[i] = from[f].number_at(rows[i]);
                features[f].number = column;
            }
        }
    }
};

struct RandomTree {
    std::vector<ForestNode> nodes;          // level by level
    std::vector<double> gain;               // per node
    std::vector<std::int32_t> leaf_of_row;  // per row; -1 without weight
};

class RandomGrowth {
  public:
    // total_weight: an upper bound of the growth weight of any tree.
    RandomGrowth(std::span<const Feature> features, std::int64_t n_rows, double total_weight);

    // At every node the best of n_random_splits random splits of each of max_features random
    // features, until the growth rows of a node are pure or alike. Missing numbers go to a random
    // side, unknown codes with the rest. Threads may call it at the same time.
    RandomTree grow(const GrowthRows& rows, const GrowthRules& rules) const;

  private:
    FixedLog xlogx_;
    std::vector<bool> has_missing_;  // per feature
};

}  // namespace priorwise
