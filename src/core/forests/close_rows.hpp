// Rows of a subtree, copied to contiguous memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/splits.hpp"

namespace priorwise {

// Largest size of a copy, in bytes: it shares the cache.
constexpr std::size_t kCloseBytes = 1 << 19;

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

}  // namespace priorwise
