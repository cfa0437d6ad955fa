// What the binding files share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace priorwise {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
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

inline void require(bool rule, const std::string& message) {
    if (!rule) throw std::invalid_argument(message);
}

// Kernels of the data layer and of the pair counts.
void bind_data(nb::module_& m);

}  // namespace priorwise
