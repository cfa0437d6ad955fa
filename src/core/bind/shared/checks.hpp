// Checks of arguments. The text of an error is built only when it is thrown.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "common/require.hpp"

namespace priorwise {

inline void check_size(std::size_t size, std::size_t wanted, const char* name, const char* per) {
    require(size == wanted, name, " needs one entry per ", per, ": ", wanted, ", got ", size);
}

template <std::integral T>
void check_range(T value, std::int64_t least, std::int64_t most, const char* name) {
    require(std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most), name,
            " must lie in ", least, "..", most, ", got ", value);
}

template <std::integral T>
void check_at_least(T value, std::int64_t least, const char* name) {
    require(std::cmp_greater_equal(value, least), name, " must be at least ", least, ", got ",
            value);
}

inline void check_positive(double value, const char* name) {
    require(value > 0.0 && std::isfinite(value), name, " must be finite and above 0, got ", value);
}

inline void check_not_negative(double value, const char* name) {
    require(value >= 0.0 && std::isfinite(value), name, " must be finite and not negative, got ",
            value);
}

// Codes must lie in first..n - 1. One pass that finds the smallest and the largest; returns whether
// a code is negative.
inline bool check_codes(std::span<const std::int32_t> codes, std::int64_t n, const char* name,
                        std::int64_t index = -1, std::int32_t first = 0) {
    std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
    std::int32_t largest = std::numeric_limits<std::int32_t>::min();
    for (const auto code : codes) {
        smallest = std::min(smallest, code);
        largest = std::max(largest, code);
    }
    if (codes.empty() || (smallest >= first && largest < n)) [[likely]]
        return smallest < 0;
    refuse(name, index >= 0 ? join("[", index, "]") : "", " must lie in ", first, "..", n - 1,
           ", got ", smallest < first ? smallest : largest);
}

template <std::floating_point T>
void check_finite(std::span<const T> numbers, const char* name) {
    bool finite = true;
    for (const T x : numbers) finite &= std::abs(x) <= std::numeric_limits<T>::max();
    require(finite, name, " must be finite");
}

// What a sum of weights may be at most: beyond, whole numbers are no longer exact.
constexpr double kMaxWeight = 9007199254740992.0;

// Weights of rows: they count rows.
template <class T>
void check_weights(std::span<const T> weights, std::size_t n_rows, const char* name) {
    check_size(weights.size(), n_rows, name, "row");
    bool right = true;
    double sum = 0.0;
    for (const T w : weights) {
        right &= w >= T{0};
        sum += static_cast<double>(w);
    }
    require(right && sum <= kMaxWeight, name,
            " must be finite and not negative, with a sum of at most 2**53");
}

template <class T>
void check_weights(const std::optional<Vector<T>>& weights, std::size_t n_rows, const char* name) {
    if (weights) check_weights(view(*weights), n_rows, name);
}

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

// Columns of one length; the number of rows.
inline std::int64_t check_columns(const Columns& columns) {
    require(!columns.empty(), "columns is empty");
    for (const auto column : columns)
        require(column.size() == columns[0].size(), "columns differ in length");
    check_range(columns[0].size(), 0, std::numeric_limits<std::int32_t>::max(), "rows of columns");
    return static_cast<std::int64_t>(columns[0].size());
}

// One column of codes from `first` on per arity, all of one length; the number of rows.
inline std::int64_t check_columns(const Columns& columns, std::span<const std::int32_t> arity,
                                  std::int32_t first = 0) {
    const auto n_rows = check_columns(columns);
    check_size(arity.size(), columns.size(), "arity", "column");
    for (std::size_t c = 0; c < columns.size(); ++c) {
        check_at_least(arity[c], 1, "arity");
        check_codes(columns[c], arity[c], "columns", static_cast<std::int64_t>(c), first);
    }
    return n_rows;
}

inline std::size_t check_column(std::int64_t column, std::size_t n_columns, const char* name) {
    check_range(column, 0, static_cast<std::int64_t>(n_columns) - 1, name);
    return static_cast<std::size_t>(column);
}

inline void check_distinct_columns(std::span<const std::int64_t> columns, std::size_t n_columns,
                                   const char* name) {
    std::vector<bool> taken(n_columns);
    for (const auto column : columns) {
        const auto place = check_column(column, n_columns, name);
        require(!taken[place], name, " must be distinct");
        taken[place] = true;
    }
}

// The value that a word stands for.
template <class T>
T choose(const char* name, const std::string& word,
         std::initializer_list<std::pair<const char*, T>> words) {
    for (const auto& [known, value] : words)
        if (word == known) return value;
    std::string known_words;
    for (const auto& [known, value] : words) known_words += join(" '", known, "'");
    refuse(name, " must be one of", known_words, ", got '", word, "'");
}

}  // namespace priorwise
