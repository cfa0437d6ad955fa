#include "pairs/popcount.hpp"

#include <bit>
#include <cstring>
#include <initializer_list>

#if defined(__aarch64__) || defined(_M_ARM64)
#define PRIORWISE_NEON 1
#include <arm_neon.h>
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PRIORWISE_X86 1
#include <immintrin.h>
#endif

namespace priorwise {
namespace {

void shared_bits_portable(const std::uint64_t* const* left, const std::uint64_t* const* right,
                          std::size_t n_words, std::uint64_t* shared) {
    for (std::size_t p = 0; p < kQuad; ++p) {
        for (std::size_t q = 0; q < kQuad; ++q) {
            std::uint64_t count = 0;
            for (std::size_t w = 0; w < n_words; ++w) {
                count += static_cast<std::uint64_t>(std::popcount(left[p][w] & right[q][w]));
            }
            shared[kQuad * p + q] += count;
        }
    }
}

#ifdef PRIORWISE_NEON

void shared_bits_neon(const std::uint64_t* const* left, const std::uint64_t* const* right,
                      std::size_t n_words, std::uint64_t* shared) {
    // A byte of the sums grows by at most 8 per vector, so 28 vectors fit in it.
    constexpr std::size_t kStretch = 56;
    for (std::size_t begin = 0; begin < n_words; begin += kStretch) {
        const std::size_t end = begin + kStretch < n_words ? begin + kStretch : n_words;
        uint8x16_t sums[kQuad * kQuad];
        for (auto& sum : sums) sum = vdupq_n_u8(0);
        for (std::size_t w = begin; w < end; w += 2) {
            uint8x16_t b[kQuad];
            for (std::size_t q = 0; q < kQuad; ++q) {
                b[q] = vreinterpretq_u8_u64(vld1q_u64(right[q] + w));
            }
            for (std::size_t p = 0; p < kQuad; ++p) {
                const uint8x16_t a = vreinterpretq_u8_u64(vld1q_u64(left[p] + w));
                for (std::size_t q = 0; q < kQuad; ++q) {
                    auto& sum = sums[kQuad * p + q];
                    sum = vaddq_u8(sum, vcntq_u8(vandq_u8(a, b[q])));
                }
            }
        }
        for (std::size_t c = 0; c < kQuad * kQuad; ++c) shared[c] += vaddlvq_u8(sums[c]);
    }
}

#endif
#ifdef PRIORWISE_X86

__attribute__((target("avx2"))) void shared_bits_avx2(const std::uint64_t* const* left,
                                                      const std::uint64_t* const* right,
                                                      std::size_t n_words, std::uint64_t* shared) {
    // The bits of each half byte from a table of 16, twice (once per 128-bit lane).
    const __m256i bits = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                          2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(0x0f);
    const __m256i zero = _mm256_setzero_si256();
    for (std::size_t p = 0; p < kQuad; ++p) {
        for (std::size_t q = 0; q < kQuad; ++q) {
            __m256i sum = zero;
            for (std::size_t w = 0; w < n_words; w += 4) {
                const __m256i both = _mm256_and_si256(
                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(left[p] + w)),
                    _mm256_loadu_si256(reinterpret_cast<const __m256i*>(right[q] + w)));
                const __m256i count = _mm256_add_epi8(
                    _mm256_shuffle_epi8(bits, _mm256_and_si256(both, low)),
                    _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(both, 4), low)));
                sum = _mm256_add_epi64(sum, _mm256_sad_epu8(count, zero));
            }
            std::uint64_t parts[4];
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), sum);
            shared[kQuad * p + q] += parts[0] + parts[1] + parts[2] + parts[3];
        }
    }
}

__attribute__((target("avx512f,avx512vpopcntdq"))) void shared_bits_avx512(
    const std::uint64_t* const* left, const std::uint64_t* const* right, std::size_t n_words,
    std::uint64_t* shared) {
    __m512i sums[kQuad * kQuad];
    for (auto& sum : sums) sum = _mm512_setzero_si512();
    for (std::size_t w = 0; w < n_words; w += 8) {
        __m512i b[kQuad];
        for (std::size_t q = 0; q < kQuad; ++q) b[q] = _mm512_loadu_si512(right[q] + w);
        for (std::size_t p = 0; p < kQuad; ++p) {
            const __m512i a = _mm512_loadu_si512(left[p] + w);
            for (std::size_t q = 0; q < kQuad; ++q) {
                auto& sum = sums[kQuad * p + q];
                sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_and_si512(a, b[q])));
            }
        }
    }
    for (std::size_t c = 0; c < kQuad * kQuad; ++c) {
        shared[c] += static_cast<std::uint64_t>(_mm512_reduce_add_epi64(sums[c]));
    }
}

#endif
}  // namespace

SharedBits find_shared_bits(const char* name) {
    if (std::strcmp(name, "portable") == 0) return shared_bits_portable;
#ifdef PRIORWISE_NEON
    if (std::strcmp(name, "neon") == 0) return shared_bits_neon;
#endif
#ifdef PRIORWISE_X86
    if (std::strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2")) return shared_bits_avx2;
    if (std::strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vpopcntdq")) {
        return shared_bits_avx512;
    }
#endif
    return nullptr;
}

SharedBits pick_shared_bits() {
    for (const char* name : {"avx512", "avx2", "neon"}) {
        if (const SharedBits found = find_shared_bits(name)) return found;
    }
    return shared_bits_portable;
}

}  // namespace priorwise
