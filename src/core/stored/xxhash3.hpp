// XXH3, the fast hash of 64 bits by Yann Collet (https://github.com/Cyan4973/xxHash), without a
// seed: it finds damage to gigabytes in a fraction of a second, and is no signature.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PRIORWISE_NEON
#include <arm_neon.h>
#endif

namespace priorwise {

class Xxhash3 {
  public:
    static std::uint64_t hash(std::span<const std::uint8_t> data) {
        const auto* in = data.data();
        const auto n = data.size();
        if (n > 240) return hash_long(in, n);
        if (n > 16) return hash_middle(in, n);
        if (n > 8) {
            const auto low = read64(in) ^ read64(kSecret + 24) ^ read64(kSecret + 32);
            const auto high = read64(in + n - 8) ^ read64(kSecret + 40) ^ read64(kSecret + 48);
            return avalanche(n + reverse(low) + high + fold(low, high));
        }
        if (n >= 4) {
            const auto both = (read32(in) << 32) + read32(in + n - 4);
            auto h = both ^ read64(kSecret + 8) ^ read64(kSecret + 16);
            h = (h ^ std::rotl(h, 49) ^ std::rotl(h, 24)) * 0x9FB21C651E98DF25;
            h = (h ^ ((h >> 35) + n)) * 0x9FB21C651E98DF25;
            return h ^ h >> 28;
        }
        auto h = read64(kSecret + 56) ^ read64(kSecret + 64);
        if (n > 0) {
            const std::uint64_t first = in[0], middle = in[n / 2], last = in[n - 1];
            h = (first << 16 | middle << 24 | last | n << 8) ^ read32(kSecret) ^
                read32(kSecret + 4);
        }
        h = (h ^ h >> 33) * kPrime2;
        h = (h ^ h >> 29) * kPrime3;
        return h ^ h >> 32;
    }

  private:
    static constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                                   kPrime5 = 0x27D4EB2F165667C5, kSmall1 = 0x9E3779B1,
                                   kSmall2 = 0x85EBCA77, kSmall3 = 0xC2B2AE3D;
    static constexpr std::size_t kStripe = 64, kStripes = 16, kBlock = kStripe * kStripes;
    using Lanes = std::array<std::uint64_t, 8>;

    // clang-format off
    static constexpr std::uint8_t kSecret[192] = {
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
        0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
        0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
        0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
        0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
        0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
        0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
        0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
        0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
        0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
        0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
        0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    };
    // clang-format on

    static std::uint64_t hash_middle(const std::uint8_t* in, std::size_t n) {
        std::uint64_t sum = n * kPrime1;
        if (n <= 128) {
            // Pieces of 16 bytes from both ends, which may overlap in the middle.
            for (std::size_t i = (n - 1) / 32 + 1; i-- > 0;) {
                sum += mix(in + 16 * i, kSecret + 32 * i);
                sum += mix(in + n - 16 * (i + 1), kSecret + 32 * i + 16);
            }
            return avalanche(sum);
        }
        for (std::size_t i = 0; i < 8; ++i) sum += mix(in + 16 * i, kSecret + 16 * i);
        sum = avalanche(sum);
        for (std::size_t i = 8; i < n / 16; ++i)
            sum += mix(in + 16 * i, kSecret + 16 * (i - 8) + 3);
        return avalanche(sum + mix(in + n - 16, kSecret + 136 - 17));
    }

    static std::uint64_t hash_long(const std::uint8_t* in, std::size_t n) {
        Lanes lanes = {kSmall3, kPrime1, kPrime2, kPrime3, kPrime4, kSmall2, kPrime5, kSmall1};
        const auto* const last = in + n - kStripe;
        const auto* const end = in + n;
        for (; end - in > static_cast<std::ptrdiff_t>(kBlock); in += kBlock) {
            for (std::size_t i = 0; i < kStripes; ++i)
                add_stripe(lanes, in + kStripe * i, kSecret + 8 * i);
            for (std::size_t i = 0; i < lanes.size(); ++i) {
                const auto lane = lanes[i] ^ lanes[i] >> 47 ^ read64(kSecret + 128 + 8 * i);
                lanes[i] = lane * kSmall1;
            }
        }
        for (std::size_t i = 0; end - in > static_cast<std::ptrdiff_t>(kStripe); ++i, in += kStripe)
            add_stripe(lanes, in, kSecret + 8 * i);
        add_stripe(lanes, last, kSecret + 128 - 7);
        std::uint64_t sum = n * kPrime1;
        for (std::size_t i = 0; i < 4; ++i)
            sum += fold(lanes[2 * i] ^ read64(kSecret + 11 + 16 * i),
                        lanes[2 * i + 1] ^ read64(kSecret + 19 + 16 * i));
        return avalanche(sum);
    }

    static void add_stripe(Lanes& lanes, const std::uint8_t* in, const std::uint8_t* secret) {
#ifdef PRIORWISE_NEON
        for (std::size_t i = 0; i < lanes.size(); i += 2) {
            const auto word = vreinterpretq_u64_u8(vld1q_u8(in + 8 * i));
            const auto key = veorq_u64(word, vreinterpretq_u64_u8(vld1q_u8(secret + 8 * i)));
            const auto sum = vaddq_u64(vld1q_u64(lanes.data() + i), vextq_u64(word, word, 1));
            vst1q_u64(lanes.data() + i, vmlal_u32(sum, vmovn_u64(key), vshrn_n_u64(key, 32)));
        }
#else
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const auto word = read64(in + 8 * i), key = word ^ read64(secret + 8 * i);
            lanes[i ^ 1] += word;
            lanes[i] += (key & 0xFFFFFFFF) * (key >> 32);
        }
#endif
    }

    static std::uint64_t mix(const std::uint8_t* in, const std::uint8_t* secret) {
        return fold(read64(in) ^ read64(secret), read64(in + 8) ^ read64(secret + 8));
    }

    static std::uint64_t avalanche(std::uint64_t h) {
        h = (h ^ h >> 37) * 0x165667919E3779F9;
        return h ^ h >> 32;
    }

    // The lower 64 bits of a product, and the upper ones.
    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
        const std::uint64_t a0 = a & 0xFFFFFFFF, a1 = a >> 32, b0 = b & 0xFFFFFFFF, b1 = b >> 32;
        const auto cross = (a0 * b0 >> 32) + (a1 * b0 & 0xFFFFFFFF) + a0 * b1;
        return a * b ^ (a1 * b1 + (a1 * b0 >> 32) + (cross >> 32));
    }

    static std::uint64_t reverse(std::uint64_t word) {
        std::uint64_t reversed = 0;
        for (int i = 0; i < 64; i += 8) reversed = reversed << 8 | (word >> i & 0xFF);
        return reversed;
    }

    // Numbers whose lowest byte comes first.
    static std::uint64_t read64(const std::uint8_t* at) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        return std::endian::native == std::endian::little ? word : reverse(word);
    }
    static std::uint64_t read32(const std::uint8_t* at) {
        return std::uint64_t{at[0]} | std::uint64_t{at[1]} << 8 | std::uint64_t{at[2]} << 16 |
               std::uint64_t{at[3]} << 24;
    }
};

}  // namespace priorwise
