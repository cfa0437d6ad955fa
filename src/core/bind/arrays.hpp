// Arrays of NumPy as kernels read them, and vectors handed over to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
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

// Hand a vector over to Python: it lives as long as the capsule.
template <class T>
nb::capsule hand_over(std::unique_ptr<std::vector<T>>& values) {
    nb::capsule owner(values.get(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    values.release();
    return owner;
}

template <class T>
NumpyVector<T> to_numpy(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    auto* data = kept->data();
    const auto size = kept->size();
    return NumpyVector<T>(data, {size}, hand_over(kept));
}

inline NumpyMatrix to_numpy(std::vector<double>&& values, std::size_t n_rows) {
    const auto n_columns = n_rows ? values.size() / n_rows : 0;
    auto kept = std::make_unique<std::vector<double>>(std::move(values));
    auto* data = kept->data();
    return NumpyMatrix(data, {n_rows, n_columns}, hand_over(kept));
}

using Columns = std::vector<Vector<std::int32_t>>;

}  // namespace priorwise
