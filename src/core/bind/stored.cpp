// Bindings of the kernels of src/core/stored.
#include <nanobind/nanobind.h>

#include <span>
#include <variant>

#include "bind/shared/arrays.hpp"
#include "bind/shared/define.hpp"
#include "stored/checks.hpp"

namespace priorwise {
namespace {

bool are_within_of(std::variant<Vector<double>, Vector<float>> numbers, double least, double most) {
    return std::visit(
        [&]<class T>(const Array<const T, 1>& vector) {
            return are_within(std::span<const T>(vector), least, most);
        },
        numbers);
}

}  // namespace

void bind_stored(nb::module_& m) {
    define(m, "are_within", &are_within_of, "numbers", "least", "most");
}

}  // namespace priorwise
