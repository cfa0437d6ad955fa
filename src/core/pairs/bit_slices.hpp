// Rows as bits: one plane per value of a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pairs/pair_counts.hpp"

namespace priorwise {

// Row numbers sorted by class, each repeated by its weight, and where each class starts.
struct RowOrder {
    std::vector<std::int32_t> rows;
    std::vector<std::int64_t> class_begin;
    bool repeats = false;  // whether a row is listed more than once
};

// Rows of weight zero are left out; `repeat` writes a row of weight w w times.
RowOrder order_by_class(const CodedTable& table, RowWeights weights, bool repeat);

// Planes of the features listed. The value 0 needs none: margins give its counts. Within a plane
// the classes follow each other, each padded with zeros to whole steps of `word_step` words, so the
// class dimension of a count costs nothing.
class BitSlices {
  public:
    BitSlices(const CodedTable& table, const RowOrder& order, std::vector<std::int64_t> features,
              std::int64_t word_step, int n_threads);

    // The (class, value) counts of one feature, as `arity` numbers per class.
    void count_margin(std::size_t f, const RowOrder& order, std::int64_t* counts) const;

    const std::vector<std::int64_t>& features() const { return features_; }
    std::int64_t n_words() const { return n_words_; }
    std::int64_t first_plane(std::size_t f) const { return first_plane_[f]; }
    std::int64_t n_planes(std::size_t f) const { return first_plane_[f + 1] - first_plane_[f]; }
    const std::uint64_t* plane(std::int64_t p) const { return words_.data() + p * n_words_; }
    std::int64_t class_word(std::int32_t k) const {
        return class_word_[static_cast<std::size_t>(k)];
    }

  private:
    void fill_feature(const CodedTable& table, const RowOrder& order, std::size_t f);

    std::vector<std::int64_t> features_, first_plane_, class_word_;
    std::int64_t n_words_ = 0;
    std::vector<std::uint64_t> words_;
};

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
