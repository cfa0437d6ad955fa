// Bindings of the kernels of src/core/stored.
#include <nanobind/nanobind.h>

#include <cstdint>
#include <variant>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "stored/checks.hpp"
#include "stored/xxhash3.hpp"

namespace priorwise {
namespace {

std::uint64_t hash_bytes(Vector<std::uint8_t> data) {
    const nb::gil_scoped_release release;
    return Xxhash3::hash(data);
}

// The hash of the hashes of blocks of bytes, which threads find.
std::uint64_t hash_blocks(Vector<std::uint8_t> data, std::int64_t block_size) {
    check_at_least(block_size, 1, "block_size");
    const nb::gil_scoped_release release;
    return Xxhash3::hash_blocks(data, static_cast<std::size_t>(block_size));
}

bool are_distributions_of(std::variant<Matrix<double>, Matrix<float>> rows, double tolerance) {
    return std::visit(
        [&]<class T>(const Array<const T, 2>& matrix) {
            const nb::gil_scoped_release release;
            return are_distributions(std::span<const T>(matrix), matrix.shape(1), tolerance);
        },
        rows);
}

bool are_within_of(std::variant<Vector<double>, Vector<float>> numbers, double least, double most) {
    return std::visit(
        [&]<class T>(const Array<const T, 1>& vector) {
            return are_within(std::span<const T>(vector), least, most);
        },
        numbers);
}

}  // namespace

void bind_stored(nb::module_& m) {
    define(m, "hash_bytes", &hash_bytes, "data");
    define(m, "hash_blocks", &hash_blocks, "data", "block_size");
    define(m, "are_distributions", &are_distributions_of, "rows", "tolerance");
    define(m, "are_within", &are_within_of, "numbers", "least", "most");
}

}  // namespace priorwise
