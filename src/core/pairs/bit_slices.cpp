#include "pairs/bit_slices.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "common/parallel.hpp"

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

}  // namespace priorwise
