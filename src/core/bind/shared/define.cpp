#include "bind/shared/define.hpp"

namespace priorwise {
namespace {

std::string quoted(const char* function, const char* name) {
    return std::string(function).append("(): ").append(name);
}

}  // namespace

std::string describe(nb::handle object) {
    std::string text = nb::cast<std::string>(object.type().attr("__name__"));
    for (const char* name : {"dtype", "shape"}) {
        if (!nb::hasattr(object, name)) continue;
        const nb::object value = object.attr(name);
        text.append(", ").append(name).append(" ");
        text.append(nb::cast<std::string>(nb::str(nb::handle(value))));
    }
    return text;
}

void sort_arguments(const char* function, std::span<const char* const> names, const nb::args& args,
                    const nb::kwargs& kwargs, std::span<nb::handle> sorted) {
    const auto n_positional = args.size();
    if (n_positional > names.size()) {
        const auto text = std::string(function)
                              .append("(): got ")
                              .append(std::to_string(n_positional))
                              .append(" arguments, takes ")
                              .append(std::to_string(names.size()));
        throw nb::type_error(text.c_str());
    }
    for (std::size_t i = 0; i < n_positional; ++i) sorted[i] = args[i];
    std::size_t n_named = 0;
    if (kwargs.size() > 0) {
        for (std::size_t i = n_positional; i < names.size(); ++i) {
            sorted[i] = PyDict_GetItemString(kwargs.ptr(), names[i]);
            n_named += sorted[i].is_valid();
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!sorted[i].is_valid())
            throw nb::type_error(quoted(function, names[i]).append(" is missing").c_str());
    if (n_named < kwargs.size()) {
        for (const auto& [name, value] : kwargs) {
            const auto text = nb::cast<std::string>(name);
            bool known = false;
            for (std::size_t i = n_positional; i < names.size(); ++i) known |= text == names[i];
            if (!known)
                throw nb::type_error(
                    quoted(function, text.c_str()).append(" is unknown or given twice").c_str());
        }
    }
}

void refuse_type(const char* function, const char* name, const std::string& expected,
                 nb::handle given) {
    throw nb::type_error(quoted(function, name)
                             .append(" must be ")
                             .append(expected)
                             .append(", got ")
                             .append(describe(given))
                             .c_str());
}

}  // namespace priorwise
