// Arrays of NumPy as kernels read them, and vectors handed over to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace priorwise {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NumpyMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
    return {array.data(), array.shape(0)};
}

// Hand a vector's memory over to NumPy.
template <class T>
NumpyVector<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NumpyVector<T>(kept->data(), {kept->size()}, owner);
}

inline NumpyMatrix to_numpy(std::vector<double>&& values, std::size_t n_rows) {
    const auto n_columns = n_rows ? values.size() / n_rows : 0;
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return NumpyMatrix(kept->data(), {n_rows, n_columns}, owner);
}

using Columns = std::vector<Vector<std::int32_t>>;

}  // namespace priorwise
