// Errors of arguments. Their text is put together only when it is thrown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace priorwise {

// Texts and numbers as one text.
template <class... Parts>
std::string join(const Parts&... parts) {
    std::string text;
    const auto append = [&](const auto& part) {
        using Part = std::remove_cvref_t<decltype(part)>;
        if constexpr (std::is_floating_point_v<Part>) {
            char number[32];
            std::snprintf(number, sizeof number, "%g", static_cast<double>(part));
            text += number;
        } else if constexpr (std::is_arithmetic_v<Part>) {
            text += std::to_string(part);
        } else {
            text += part;
        }
    };
    (append(parts), ...);
    return text;
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    throw std::invalid_argument(join(parts...));
}

template <class... Parts>
void require(bool rule, const Parts&... parts) {
    if (!rule) [[unlikely]]
        refuse(parts...);
}

// Tables whose size depends on a number may take 512 MB, or 64 KB for each entry of the arrays that
// a call is given: a larger number is a mistake, on every machine. Called before they are
// allocated.
template <class Value>
void require_memory(double n_bytes, std::size_t n_given, const char* name, const Value& value) {
    require(n_bytes <= std::max(0x1p29, 0x1p16 * static_cast<double>(n_given)), name,
            " is too large, got ", value, ": its tables would take ", n_bytes,
            " bytes; they may take 2**29, or 2**16 for each of the ", n_given, " entries given");
}

}  // namespace priorwise
