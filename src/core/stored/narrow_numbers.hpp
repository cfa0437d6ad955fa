// Numbers as files hold them: in a narrow type, to be read as a wider one that has them exactly.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace priorwise {

// Whether T has every number of type From exactly.
template <class From, class T>
constexpr bool kHasExactly = std::numeric_limits<From>::digits <= std::numeric_limits<T>::digits &&
                             (std::floating_point<T> || std::integral<From>) &&
                             (std::is_signed_v<T> || std::is_unsigned_v<From>);

// A view of numbers that are read as type T. They may lie at any address.
template <class T>
class NarrowNumbers {
  public:
    NarrowNumbers() = default;

    template <class From>
        requires kHasExactly<From, T>
    static NarrowNumbers of(const void* data, std::size_t size) {
        NarrowNumbers numbers;
        numbers.data_ = static_cast<const std::byte*>(data);
        numbers.size_ = size;
        numbers.widen_ = &widen<From>;
        return numbers;
    }

    std::size_t size() const { return size_; }

    // The numbers as they lie in memory, or null if they are of another type or not aligned.
    template <class From>
    const From* as() const {
        const bool is_aligned = reinterpret_cast<std::uintptr_t>(data_) % alignof(From) == 0;
        return widen_ == &widen<From> && is_aligned ? reinterpret_cast<const From*>(data_)
                                                    : nullptr;
    }

    // Write all numbers to `out`.
    void read(T* out) const {
        if (size_ > 0) widen_(data_, 0, size_, out);
    }

    // Write `size` numbers from place `first` on.
    void read(std::size_t first, std::size_t size, std::vector<T>& out) const {
        out.resize(size);
        if (size > 0) widen_(data_, first, size, out.data());
    }

    std::vector<T> to_vector() const {
        std::vector<T> numbers(size_);
        read(numbers.data());
        return numbers;
    }

    // The numbers, where they lie or, if they must be widened, in `widened`.
    std::span<const T> view(std::vector<T>& widened) const {
        if (const auto* own = as<T>()) return {own, size_};
        widened = to_vector();
        return widened;
    }

  private:
    template <class From>
    static void widen(const std::byte* in, std::size_t first, std::size_t n, T* out) {
        in += first * sizeof(From);
        for (std::size_t i = 0; i < n; ++i) {
            From number;
            std::memcpy(&number, in + i * sizeof(From), sizeof(From));
            out[i] = static_cast<T>(number);
        }
    }

    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    void (*widen_)(const std::byte*, std::size_t, std::size_t, T*) = nullptr;
};

}  // namespace priorwise
