// One stream of random numbers per tree, the same on every platform and for any number of threads.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace priorwise {

// The step of splitmix64 and its finaliser, which mixes the bits of a number.
constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;
inline std::uint64_t mix_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// xoshiro256++ (Blackman and Vigna), seeded by splitmix64.
class Rng {
  public:
    explicit Rng(std::uint64_t seed) {
        for (auto& word : state_) word = mix_bits(seed += kGoldenGamma);
    }

    std::uint64_t bits() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Uniform on the open interval (0, 1).
    double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1.0p-52; }

    // Standard normal, by the polar method of Marsaglia.
    double normal() {
        double x, square;
        do {
            x = 2.0 * uniform() - 1.0;
            const double y = 2.0 * uniform() - 1.0;
            square = x * x + y * y;
        } while (square >= 1.0);
        return x * std::sqrt(-2.0 * std::log(square) / square);
    }

    // Gamma of the given shape and rate one (Marsaglia and Tsang), as its logarithm: a small shape
    // gives numbers below the smallest double.
    double log_gamma(double shape) {
        if (shape < 1.0) return log_gamma(shape + 1.0) + std::log(uniform()) / shape;
        const double d = shape - 1.0 / 3.0;
        const double c = 1.0 / std::sqrt(9.0 * d);
        for (;;) {
            const double x = normal();
            const double root = 1.0 + c * x;
            if (root <= 0.0) continue;
            const double v = root * root * root;
            if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
                return std::log(d) + std::log(v);
        }
    }

    double gamma(double shape) { return std::exp(log_gamma(shape)); }

    // -log of a Beta(a, b) variate.
    double minus_log_beta(double a, double b) {
        const double log_a = log_gamma(a);
        const double log_b = log_gamma(b);
        return log_b > log_a ? log_b - log_a + std::log1p(std::exp(log_a - log_b))
                             : std::log1p(std::exp(log_b - log_a));
    }

  private:
    std::uint64_t state_[4];
};

}  // namespace priorwise
