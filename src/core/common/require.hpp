// Errors of arguments. Their text is put together only when it is thrown.
#pragma once

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

}  // namespace priorwise
