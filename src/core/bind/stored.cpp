// Bindings of the kernels of src/core/stored.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "bind/shared/arrays.hpp"
#include "bind/shared/define.hpp"
#include "stored/checks.hpp"
#include "stored/crc32.hpp"

namespace priorwise {
namespace {

bool are_within_of(
    std::variant<Vector<double>, Vector<float>, Vector<std::int32_t>, Vector<std::int64_t>> numbers,
    double least, double most) {
    return std::visit(
        [&]<class T>(const Array<const T, 1>& vector) {
            return are_within(std::span<const T>(vector), least, most);
        },
        numbers);
}

bool are_distributions_of(std::variant<Matrix<float>, Matrix<double>> rows) {
    return std::visit(
        [&]<class T>(const Array<const T, 2>& matrix) {
            return are_distributions(std::span<const T>(matrix), matrix.shape(1));
        },
        rows);
}

auto fold_crc32_of(Vector<std::uint8_t> bytes, std::uint32_t start) {
    auto [folded, next] = without_gil([&] { return fold_crc32(bytes, start); });
    return std::pair(nb::bytes(folded.data(), folded.size()), next);
}

}  // namespace

void bind_stored(nb::module_& m) {
    define(m, "are_within", &are_within_of, "numbers", "least", "most");
    define(m, "are_distributions", &are_distributions_of, "rows");
    define(m, "fold_crc32", &fold_crc32_of, "numbers", "start");
}

}  // namespace priorwise
