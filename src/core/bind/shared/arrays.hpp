// Arrays of NumPy as kernels read and write them, and vectors handed over to NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind/shared/gil.hpp"

namespace priorwise {

namespace nb = nanobind;

struct ReleaseBuffer {
    void operator()(Py_buffer* buffer) const {
        PyBuffer_Release(buffer);
        delete buffer;
    }
};
using Buffer = std::unique_ptr<Py_buffer, ReleaseBuffer>;

// The memory of an array, or null if the object has none or it may not be written to.
inline Buffer take_buffer(PyObject* object, bool writable) {
    auto buffer = std::make_unique<Py_buffer>();
    const int wanted = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_CheckBuffer(object) && PyObject_GetBuffer(object, buffer.get(), wanted) == 0)
        return Buffer(buffer.release());
    PyErr_Clear();
    return {};
}

// Whether elements are of type T, in the byte order of the machine.
template <class T>
bool holds(const Py_buffer& buffer) {
    std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
    if (format.size() == 2 && (format[0] == '@' || format[0] == '=')) format.remove_prefix(1);
    const std::string_view kinds = std::is_floating_point_v<T> ? "fd"
                                   : std::is_signed_v<T>       ? "bhilqn"
                                                               : "BHILQN";
    if (format.size() != 1 || kinds.find(format[0]) == std::string_view::npos) return false;
    return buffer.itemsize == static_cast<Py_ssize_t>(sizeof(T));
}

// A contiguous array of N dimensions, held for as long as a kernel uses it; T is const if it is
// only read. Arrays of another type or layout are refused, never converted. An array at an address
// that T may not have, as pickles sent over a network give, is copied if it is only read, else
// refused.
template <class T, std::size_t N>
class Array {
  public:
    bool take(PyObject* object) {
        auto buffer = take_buffer(object, !std::is_const_v<T>);
        if (!buffer || buffer->ndim != static_cast<int>(N) ||
            !holds<std::remove_const_t<T>>(*buffer))
            return false;
        Py_ssize_t step = sizeof(T);
        for (std::size_t axis = N; axis-- > 0;) {
            shape_[axis] = static_cast<std::size_t>(buffer->shape[axis]);
            if (buffer->len > 0 && shape_[axis] > 1 && buffer->strides[axis] != step) return false;
            step *= buffer->shape[axis];
        }
        data_ = static_cast<T*>(buffer->buf);
        if (buffer->len > 0 && reinterpret_cast<std::uintptr_t>(data_) % alignof(T) != 0) {
            if constexpr (std::is_const_v<T>) {
                aligned_.resize(size());
                std::memcpy(aligned_.data(), buffer->buf, static_cast<std::size_t>(buffer->len));
                data_ = aligned_.data();
            } else {
                return false;
            }
        }
        buffer_ = std::move(buffer);
        return true;
    }

    T* data() const { return data_; }
    std::size_t shape(std::size_t axis) const { return shape_[axis]; }
    std::size_t size() const {
        std::size_t size = 1;
        for (const auto length : shape_) size *= length;
        return size;
    }
    T& operator[](std::size_t i) const { return data_[i]; }
    T* begin() const { return data_; }
    T* end() const { return data_ + size(); }
    operator std::span<T>() const { return {data_, size()}; }

  private:
    Buffer buffer_;
    std::vector<std::remove_const_t<T>> aligned_;
    T* data_ = nullptr;
    std::array<std::size_t, N> shape_{};
};

template <class T>
using Vector = Array<const T, 1>;
template <class T>
using Matrix = Array<const T, 2>;
template <class T>
using Output = Array<T, 1>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
    return array;
}

template <class T>
std::vector<T> copy(const Vector<T>& array) {
    return {array.begin(), array.end()};
}

// Numbers that an object is made of: an array of type T or, as files hold it, a pair of an array of
// a narrower type and NumPy's name of T, such as "i4".
template <class T>
class Numbers {
  public:
    // Assigns a part of the numbers, given its first and its length; it holds the array.
    using Reader = std::function<void(std::size_t, std::size_t, std::vector<T>&)>;

    bool take(PyObject* object) {
        if (take_as<T>(object)) return true;
        constexpr char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
        std::pair<nb::object, std::string> narrow;
        is_narrow_ = PyTuple_Check(object) && nb::try_cast(nb::handle(object), narrow) &&
                     narrow.second == kind + std::to_string(sizeof(T)) &&
                     take_any<std::uint8_t, std::uint16_t, std::int8_t, std::int16_t, std::uint32_t,
                              std::int32_t, float>(narrow.first.ptr());
        return is_narrow_;
    }

    bool is_narrow() const { return is_narrow_; }
    std::size_t size() const { return size_; }
    const Reader& reader() const { return read_; }

  private:
    template <class... From>
    bool take_any(PyObject* array) {
        return (take_as<From>(array) || ...);
    }

    template <class From>
    bool take_as(PyObject* object) {
        using Wide = std::numeric_limits<T>;
        using Narrow = std::numeric_limits<From>;
        if constexpr (Narrow::digits <= Wide::digits && Narrow::is_signed <= Wide::is_signed &&
                      Narrow::is_integer >= Wide::is_integer) {
            const auto array = std::make_shared<Vector<From>>();
            if (!array->take(object)) return false;
            size_ = array->size();
            read_ = [array](std::size_t first, std::size_t n, std::vector<T>& out) {
                out.assign(array->begin() + first, array->begin() + first + n);
            };
            return true;
        }
        return false;
    }

    bool is_narrow_ = false;
    std::size_t size_ = 0;
    Reader read_;
};

template <class T>
std::vector<T> copy(const Numbers<T>& numbers) {
    std::vector<T> out;
    numbers.reader()(0, numbers.size(), out);
    return out;
}

// Codes of several columns, read from a matrix (columns x rows) or a list of vectors.
class Columns {
  public:
    bool take(PyObject* object);
    std::size_t size() const { return columns_.size(); }
    bool empty() const { return columns_.empty(); }
    std::span<const std::int32_t> operator[](std::size_t c) const { return columns_[c]; }
    auto begin() const { return columns_.begin(); }
    auto end() const { return columns_.end(); }
    std::span<const std::span<const std::int32_t>> spans() const { return columns_; }

  private:
    Matrix<std::int32_t> matrix_;
    std::vector<Vector<std::int32_t>> vectors_;
    std::vector<std::span<const std::int32_t>> columns_;
};

inline bool Columns::take(PyObject* object) {
    if (matrix_.take(object)) {
        for (std::size_t c = 0; c < matrix_.shape(0); ++c)
            columns_.emplace_back(matrix_.data() + c * matrix_.shape(1), matrix_.shape(1));
        return true;
    }
    if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
    for (Py_ssize_t c = 0; c < PySequence_Size(object); ++c) {
        const auto entry = nb::steal(PySequence_GetItem(object, c));
        if (!entry.is_valid()) throw nb::python_error();
        Vector<std::int32_t> column;
        if (!column.take(entry.ptr())) return false;
        columns_.emplace_back(column);
        vectors_.push_back(std::move(column));
    }
    return true;
}

// What a function returns, called without the interpreter's lock.
template <class Work>
auto without_gil(const Work& work) {
    const GilRelease release;
    return work();
}

template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using NumpyMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// Hand a vector over to Python: it lives as long as the capsule.
template <class T>
nb::capsule hand_over(std::unique_ptr<std::vector<T>>& values) {
    nb::capsule owner(values.get(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    values.release();
    return owner;
}

// A vector as an array of the given shape.
template <class T, std::size_t N>
nb::ndarray<nb::numpy, T, nb::ndim<N>> to_numpy(std::vector<T>&& values,
                                                const std::size_t (&shape)[N]) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    auto* data = kept->data();
    return nb::ndarray<nb::numpy, T, nb::ndim<N>>(data, N, shape, hand_over(kept));
}

template <class T>
NumpyVector<T> to_numpy(std::vector<T>&& values) {
    const auto size = values.size();
    return to_numpy(std::move(values), {size});
}

template <class T>
std::vector<NumpyVector<T>> to_arrays(std::vector<std::vector<T>>&& vectors) {
    std::vector<NumpyVector<T>> arrays;
    for (auto& one : vectors) arrays.push_back(to_numpy(std::move(one)));
    return arrays;
}

// Records as bytes: NumPy sees them as records of the same layout.
template <class Record>
NumpyVector<std::uint8_t> to_bytes(std::vector<Record>&& records) {
    auto kept = std::make_unique<std::vector<Record>>(std::move(records));
    auto* data = reinterpret_cast<std::uint8_t*>(kept->data());
    const auto size = kept->size() * sizeof(Record);
    return NumpyVector<std::uint8_t>(data, {size}, hand_over(kept));
}

// A member of a bound object that Python may read and not write; the object lives as long as it.
template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> read_only(const std::vector<T>& values) {
    return {values.data(), {values.size()}};
}

}  // namespace priorwise
