// Counting the rows that two sets of rows share, sets given as bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace priorwise {

inline constexpr std::size_t kQuad = 4;      // planes per side of one call
inline constexpr std::size_t kWordStep = 8;  // words come in multiples of this: 512 bits

// shared[4 p + q] += number of bits set in both left[p] and right[q], over n_words words.
using SharedBits = void (*)(const std::uint64_t* const* left, const std::uint64_t* const* right,
                            std::size_t n_words, std::uint64_t* shared);

// The fastest kernel that this processor can run.
SharedBits pick_shared_bits();

// By name ("portable", "neon", "avx2", "avx512"); null if this processor cannot run it.
SharedBits find_shared_bits(const char* name);

}  // namespace priorwise
