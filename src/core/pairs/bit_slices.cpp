#include "pairs/bit_slices.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "common/parallel.hpp"

#if defined(__aarch64__) || defined(_M_ARM64)
#define PRIORWISE_NEON 1
#include <arm_neon.h>
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PRIORWISE_X86 1
#include <immintrin.h>
#endif

namespace priorwise {

RowOrder order_by_class(const CodedTable& table, RowWeights weights, bool repeat) {
    auto times = [&](std::int64_t row) -> std::int64_t {
        if (weights.real != nullptr) return weights.real[row] > 0.0;
        if (weights.whole == nullptr) return 1;
        return repeat ? weights.whole[row] : weights.whole[row] > 0;
    };
    RowOrder order;
    order.class_begin.assign(static_cast<std::size_t>(table.n_classes) + 1, 0);
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
        order.class_begin[static_cast<std::size_t>(table.classes[row]) + 1] += times(row);
    }
    for (std::size_t k = 1; k < order.class_begin.size(); ++k) {
        order.class_begin[k] += order.class_begin[k - 1];
    }
    order.rows.resize(static_cast<std::size_t>(order.class_begin.back()));
    auto next = order.class_begin;
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
        auto& at = next[static_cast<std::size_t>(table.classes[row])];
        if (times(row) > 1) order.repeats = true;
        for (std::int64_t t = times(row); t > 0; --t) {
            order.rows[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(row);
        }
    }
    return order;
}

BitSlices::BitSlices(const CodedTable& table, const RowOrder& order,
                     std::vector<std::int64_t> features, std::int64_t word_step, int n_threads)
    : features_(std::move(features)) {
    class_word_.push_back(0);
    const std::int64_t step_rows = 64 * word_step;
    for (std::size_t k = 0; k + 1 < order.class_begin.size(); ++k) {
        const std::int64_t rows = order.class_begin[k + 1] - order.class_begin[k];
        const std::int64_t steps = (rows + step_rows - 1) / step_rows;
        class_word_.push_back(class_word_.back() + steps * word_step);
    }
    n_words_ = class_word_.back();
    first_plane_.push_back(0);
    for (const auto i : features_) first_plane_.push_back(first_plane_.back() + table.arity(i) - 1);
    words_.assign(static_cast<std::size_t>(first_plane_.back() * n_words_), 0);
    parallel_for(static_cast<std::int64_t>(features_.size()), n_threads,
                 [&](std::int64_t f) { fill_feature(table, order, static_cast<std::size_t>(f)); });
}

void BitSlices::fill_feature(const CodedTable& table, const RowOrder& order, std::size_t f) {
    const std::int64_t i = features_[f];
    const std::int32_t* codes = table.feature(i);
    const std::int32_t arity = table.arity(i);
    const int n_bits = std::bit_width(static_cast<std::uint32_t>(arity - 1));
    // Narrow the codes first: the gather below then reads a quarter of the memory.
    std::vector<unsigned char> narrow(static_cast<std::size_t>(table.n_rows));
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
        narrow[static_cast<std::size_t>(row)] =
            static_cast<unsigned char>(codes[row] < 0 ? arity - 1 : codes[row]);
    }
    const std::int32_t* rows = order.rows.data();
    std::uint64_t* first = words_.data() + first_plane_[f] * n_words_;
    for (std::size_t k = 0; k + 1 < order.class_begin.size(); ++k) {
        std::int64_t word = class_word_[k];
        for (std::int64_t at = order.class_begin[k]; at < order.class_begin[k + 1];
             at += 64, ++word) {
            const std::int64_t length = std::min<std::int64_t>(64, order.class_begin[k + 1] - at);
            // Codes of 64 rows as bytes; rows past the end are 0, the value without a plane.
            unsigned char bytes[64] = {};
            const auto first_row = static_cast<std::size_t>(rows[at]);
            if (!order.repeats && rows[at + length - 1] - rows[at] == length - 1) {
                // Rows that follow each other, as most do where a class is frequent.
                std::memcpy(bytes, narrow.data() + first_row, static_cast<std::size_t>(length));
            } else {
                for (std::int64_t r = 0; r < length; ++r) {
                    bytes[r] = narrow[static_cast<std::size_t>(rows[at + r])];
                }
            }
            // Bit b of the 64 codes as one word. Multiplying gathers the lowest bits of eight
            // bytes in the top byte. Any fixed order of the rows in a word will do.
            std::uint64_t bits[8] = {};
            for (int group = 0; group < 8; ++group) {
                std::uint64_t eight;
                std::memcpy(&eight, bytes + 8 * group, sizeof eight);
                for (int b = 0; b < n_bits; ++b) {
                    const std::uint64_t lowest = (eight >> b) & 0x0101010101010101ULL;
                    bits[b] |= ((lowest * 0x0102040810204080ULL) >> 56) << (8 * group);
                }
            }
            for (std::int32_t value = 1; value < arity; ++value) {
                std::uint64_t plane = ~0ULL;
                for (int b = 0; b < n_bits; ++b) {
                    plane &= (value >> b) & 1 ? bits[b] : ~bits[b];
                }
                first[(value - 1) * n_words_ + word] = plane;
            }
        }
    }
}

void BitSlices::count_margin(std::size_t f, const RowOrder& order, std::int64_t* counts) const {
    for (std::size_t k = 0; k + 1 < order.class_begin.size(); ++k) {
        std::int64_t& zeros = *counts++;
        zeros = order.class_begin[k + 1] - order.class_begin[k];
        for (std::int64_t p = first_plane_[f]; p < first_plane_[f + 1]; ++p) {
            std::int64_t count = 0;
            for (std::int64_t word = class_word_[k]; word < class_word_[k + 1]; ++word) {
                count += std::popcount(plane(p)[word]);
            }
            zeros -= count;
            *counts++ = count;
        }
    }
}

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
