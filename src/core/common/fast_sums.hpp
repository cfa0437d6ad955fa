// Sums, logarithms and exponentials in forms that compilers turn into wide instructions.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

// A function with PRIORWISE_WIDE is compiled twice where that is possible, for processors of x86-64
// with 32-byte registers and for all others; which one runs is found when the library is loaded.
// Both add up in the same order, without fused operations, so both give the same bits. What finds
// it would run before the thread sanitizer is ready.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define PRIORWISE_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PRIORWISE_WIDE
#endif

// What such a function calls is compiled with it only if it becomes a part of it.
#ifdef __GNUC__
#define PRIORWISE_INLINE [[gnu::always_inline]] inline
#else
#define PRIORWISE_INLINE inline
#endif

namespace priorwise {

// Eight sums side by side, in one register where the compiler knows how: it does not find out by
// itself that several arrays of sums may stay in registers.
#ifdef __GNUC__
using Eight [[gnu::vector_size(32)]] = float;
#else
using Eight = std::array<float, 8>;
#endif

PRIORWISE_INLINE void add_products(const float* a, const float* b, Eight& sums) {
#ifdef __GNUC__
    Eight one, other;
    std::memcpy(&one, a, sizeof one);
    std::memcpy(&other, b, sizeof other);
    sums += one * other;
#else
    for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += a[lane] * b[lane];
#endif
}

// The inner product of two rows of numbers: eight sums side by side, which a compiler turns into
// wide instructions.
template <class T>
PRIORWISE_INLINE T dot(const T* a, const T* b, std::int32_t n) {
    T sums[8] = {};
    std::int32_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// The same for long rows, and to[i] += scale * from[i].
double sum_products(const double* a, const double* b, std::size_t n);
void add_scaled(const double* from, double scale, std::size_t n, double* to);

// Adds up weight x (linear + log(factor)) with factors from 1 to 1e100. Logarithms are slow: for
// weights of one, the logarithm of the product of many factors is taken.
class LogSum {
  public:
    void add(double weight, double linear, double factor) {
        sum_ += weight * linear;
        if (weight != 1.0) {
            sum_ += weight * std::log(factor);
            return;
        }
        product_ *= factor;
        if (product_ < kLarge) return;
        sum_ += std::log(product_);
        product_ = 1.0;
    }
    double total() const { return sum_ + std::log(product_); }

  private:
    static constexpr double kLarge = 1e200;

    double sum_ = 0.0, product_ = 1.0;
};

// exp(-x) for x >= 0, with a relative error below 1e-15. Beyond 708 it is exp(-708), about 3e-308.
//
//     exp(-x) = 2^n exp(r),   n = round(-x / ln 2),   |r| <= ln(2) / 2
//
// and exp(r) by its Taylor series of degree 13. The same operations in the same order for every
// x, so that the result does not depend on the place of x in an array.
PRIORWISE_INLINE double exp_of_minus(double x) {
    // The bits of numbers above zero are in the order of the numbers. Comparing them as whole
    // numbers, unlike comparing the numbers, leaves the loop free of branches.
    constexpr auto kLargest = std::bit_cast<std::int64_t>(708.0);
    const auto bits = std::bit_cast<std::int64_t>(x);
    const double z = -std::bit_cast<double>(bits < kLargest ? bits : kLargest);
    constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
    constexpr double kLn2High = 0x1.62e42fefa0000p-1;
    constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;
    // Adding it rounds to a whole number, which is left in the lowest bits.
    constexpr double kRound = 0x1.8p52;
    const double shifted = z * kInverseLn2 + kRound;
    const double n = shifted - kRound;
    const double r = (z - n * kLn2High) - n * kLn2Low;
    double series = 1.0 / 6227020800.0;
    series = series * r + 1.0 / 479001600.0;
    series = series * r + 1.0 / 39916800.0;
    series = series * r + 1.0 / 3628800.0;
    series = series * r + 1.0 / 362880.0;
    series = series * r + 1.0 / 40320.0;
    series = series * r + 1.0 / 5040.0;
    series = series * r + 1.0 / 720.0;
    series = series * r + 1.0 / 120.0;
    series = series * r + 1.0 / 24.0;
    series = series * r + 1.0 / 6.0;
    series = series * r + 0.5;
    series = series * r + 1.0;
    series = series * r + 1.0;
    const auto exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(series) + exponent);
}

// Numbers x >= 0 become exp(-x).
void exponentiate_minus(std::span<double> x);

}  // namespace priorwise
