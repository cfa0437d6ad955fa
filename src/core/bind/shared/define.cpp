#include "bind/shared/define.hpp"

#include <algorithm>
#include <functional>

#include "common/require.hpp"

namespace priorwise {
namespace {

template <class... Parts>
[[noreturn]] void throw_type_error(const Parts&... parts) {
    throw nb::type_error(join(parts...).c_str());
}

}  // namespace

std::string describe(nb::handle object) {
    std::string text = nb::cast<std::string>(object.type().attr("__name__"));
    for (const char* name : {"dtype", "shape"}) {
        if (!nb::hasattr(object, name)) continue;
        const nb::object value = object.attr(name);
        text += join(", ", name, " ", nb::cast<std::string>(nb::str(nb::handle(value))));
    }
    return text;
}

void sort_arguments(const char* function, std::span<const char* const> names,
                    std::size_t max_positional, const nb::args& args, const nb::kwargs& kwargs,
                    std::span<nb::handle> sorted) {
    const auto n_positional = args.size();
    if (n_positional > max_positional)
        throw_type_error(function, "(): got ", n_positional, " arguments without a name, takes ",
                         max_positional);
    for (std::size_t i = 0; i < n_positional; ++i) sorted[i] = args[i];
    std::size_t n_named = 0;
    if (kwargs.size() > 0) {
        for (std::size_t i = n_positional; i < names.size(); ++i) {
            sorted[i] = PyDict_GetItemString(kwargs.ptr(), names[i]);
            n_named += sorted[i].is_valid();
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!sorted[i].is_valid()) throw_type_error(function, "(): ", names[i], " is missing");
    if (n_named < kwargs.size()) {
        for (const auto& [name, value] : kwargs) {
            const auto text = nb::cast<std::string>(name);
            bool known = false;
            for (std::size_t i = n_positional; i < names.size(); ++i) known |= text == names[i];
            if (!known) throw_type_error(function, "(): ", text, " is unknown or given twice");
        }
    }
}

void refuse_type(const char* function, const char* name, const std::string& expected,
                 nb::handle given) {
    throw_type_error(function, "(): ", name, " must be ", expected, ", got ", describe(given));
}

void check_apart(const char* function, std::vector<Memory>& list) {
    std::ranges::sort(list, std::less<>(), &Memory::begin);
    // The arrays so far that reach furthest: of all, and of those that are written to.
    const Memory *last = nullptr, *last_written = nullptr;
    const auto reaches = [](const Memory* one, const Memory& next) {
        return one != nullptr && std::less<>()(next.begin, one->end);
    };
    for (const auto& next : list) {
        const auto* other = next.written ? last : last_written;
        if (reaches(other, next))
            refuse(function, "(): ", next.written ? next.name : other->name,
                   " is written to and must not share memory with ",
                   next.written ? other->name : next.name);
        if (last == nullptr || std::less<>()(last->end, next.end)) last = &next;
        if (next.written) last_written = &next;
    }
}

}  // namespace priorwise
