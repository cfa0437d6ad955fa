// Checks of arguments. The text of an error is built only when it is thrown.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "bind/arrays.hpp"

namespace priorwise {

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(const std::string& message) {
    throw std::invalid_argument(message);
}

inline void require(bool rule, const char* message) {
    if (!rule) [[unlikely]]
        refuse(message);
}

// message: a function that makes the text.
template <std::invocable Message>
void require(bool rule, const Message& message) {
    if (!rule) [[unlikely]]
        refuse(message());
}

// Codes must lie in first..n - 1. One pass that finds the smallest and the largest.
inline void check_codes(std::span<const std::int32_t> codes, std::int64_t n, const char* name,
                        std::int64_t index = -1, std::int32_t first = 0) {
    std::int32_t smallest = std::numeric_limits<std::int32_t>::max();
    std::int32_t largest = std::numeric_limits<std::int32_t>::min();
    for (const auto code : codes) {
        smallest = std::min(smallest, code);
        largest = std::max(largest, code);
    }
    require(codes.empty() || (smallest >= first && largest < n), [&] {
        std::string text = name;
        if (index >= 0) text.append("[").append(std::to_string(index)).append("]");
        return text.append(" must lie in ")
            .append(std::to_string(first))
            .append("..")
            .append(std::to_string(n - 1))
            .append(", got ")
            .append(std::to_string(smallest < first ? smallest : largest));
    });
}

// One column of codes per arity, all of one length.
inline void check_columns(const Columns& columns, std::span<const std::int32_t> arity) {
    require(columns.size() == arity.size(), "columns and arities differ in length");
    for (std::size_t c = 0; c < columns.size(); ++c) {
        require(columns[c].shape(0) == columns[0].shape(0), "columns differ in length");
        check_codes(view(columns[c]), arity[c], "columns", static_cast<std::int64_t>(c));
    }
}

}  // namespace priorwise
