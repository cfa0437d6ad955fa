#include "stored/crc32.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PRIORWISE_X86 1
#include <immintrin.h>
#endif

namespace priorwise {

#ifdef PRIORWISE_X86
namespace {

constexpr std::size_t kBlock = 64;  // bytes that are folded at a time

#define PRIORWISE_FOLDING __attribute__((target("pclmul")))

// The remainder of `high` as it stands before as many bits as `powers` are of, added to `low`.
PRIORWISE_FOLDING __m128i fold(__m128i high, __m128i powers, __m128i low) {
    const auto first = _mm_clmulepi64_si128(high, powers, 0x00);
    const auto second = _mm_clmulepi64_si128(high, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(first, second), low);
}

PRIORWISE_FOLDING __m128i fold_blocks(const std::uint8_t* bytes, std::size_t n_bytes,
                                      std::uint32_t start) {
    const auto load = [](const std::uint8_t* from) PRIORWISE_FOLDING {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    };
    // x^(n + 32) and x^(n - 32) modulo the polynomial, bits reversed, for n = 512 and n = 128.
    const auto by_block = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const auto by_part = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    __m128i sum[4];
    for (int i = 0; i < 4; ++i) sum[i] = load(bytes + 16 * i);
    sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128(static_cast<int>(~start)));
    for (std::size_t at = kBlock; at < n_bytes; at += kBlock)
        for (int i = 0; i < 4; ++i) sum[i] = fold(sum[i], by_block, load(bytes + at + 16 * i));
    for (int i = 1; i < 4; ++i) sum[i] = fold(sum[i - 1], by_part, sum[i]);
    return sum[3];
}

}  // namespace
#endif

std::pair<std::vector<std::uint8_t>, std::uint32_t> fold_crc32(std::span<const std::uint8_t> bytes,
                                                               std::uint32_t start) {
#ifdef PRIORWISE_X86
    if (bytes.size() >= kBlock && __builtin_cpu_supports("pclmul")) {
        const auto end = bytes.size() / kBlock * kBlock;
        std::vector<std::uint8_t> folded(sizeof(__m128i));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(folded.data()),
                         fold_blocks(bytes.data(), end, start));
        folded.insert(folded.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end());
        // zlib inverts what it is given: this is a remainder of zero.
        return {std::move(folded), ~std::uint32_t{0}};
    }
#endif
    return {{bytes.begin(), bytes.end()}, start};
}

}  // namespace priorwise
