#include "bind/shared/define.hpp"

#include <functional>

namespace priorwise {

// Type, and the element type and shape of an array.
static std::string describe(nb::handle object) {
    std::string text = nb::cast<std::string>(object.type().attr("__name__"));
    for (const char* name : {"dtype", "shape"}) {
        if (!nb::hasattr(object, name)) continue;
        const nb::object value = object.attr(name);
        text += join(", ", name, " ", nb::cast<std::string>(nb::str(nb::handle(value))));
    }
    return text;
}

void refuse_type(const char* function, const char* name, const std::string& expected,
                 nb::handle given) {
    throw nb::type_error(
        join(function, "(): ", name, " must be ", expected, ", got ", describe(given)).c_str());
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
