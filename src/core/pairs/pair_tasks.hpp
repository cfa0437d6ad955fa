// The ways of counting pairs: over bits, into dense tables, over grouped rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "common/fixed_log.hpp"
#include "pairs/bit_slices.hpp"
#include "pairs/pair_counts.hpp"

namespace priorwise {

// Every feature's (class, value) counts, and where a feature's start.
template <class Count>
struct Margins {
    std::vector<std::int64_t> offset;
    std::vector<Count> counts;

    Count* of(std::int64_t i) { return counts.data() + offset[static_cast<std::size_t>(i)]; }
    const Count* of(std::int64_t i) const {
        return counts.data() + offset[static_cast<std::size_t>(i)];
    }
};

template <class Count>
Margins<Count> make_margins(const CodedTable& table);

// What single features add to information: sums of n ln n over the margins of their known values.
struct MarginSums {
    std::vector<double> mutual;               // I(X_i; Y), nats
    std::vector<std::int64_t> class_feature;  // over the values of X_i in all classes
    std::vector<std::int64_t> n_seen;         // known values of X_i seen with class y
    std::int64_t classes = 0;                 // over the classes, of all rows
};

template <class Count>
MarginSums sum_margins(const FixedLog& log, double total, const Count* margins,
                       std::span<const std::int32_t> arities, std::span<const std::int32_t> n_known,
                       std::int32_t n_classes);

// Rounding may make the information of independent features slightly negative.
inline double information_in_nats(const FixedLog& log, double total, std::int64_t sum) {
    return total > 0.0 ? std::max(log.to_nats(sum) / total, 0.0) : 0.0;
}

// The sum of all weights; throws std::invalid_argument if it is above 2^53.
double total_weight(const CodedTable& table, RowWeights weights);

// More rows make no larger table of logarithms of counts: most counts of pairs are far below.
constexpr std::int64_t kMostTabledRows = 1 << 13;

constexpr std::int32_t kMaxBitArity = 16;  // above it scatter is faster

// Whether rows can be written as bits: weights are whole, and not too large on average.
bool fits_bits(const CodedTable& table, RowWeights weights);

// The features of few values, none of which is missing: those that are counted as bits.
std::vector<std::int64_t> narrow_features(const CodedTable& table);

// Adds every row to one feature's margin.
template <class Count>
void count_margin(const CodedTable& table, RowWeights weights, std::int64_t i, Count* counts);

template <class Count>
inline Count weight_of(RowWeights weights, std::int64_t row) {
    if (weights.real != nullptr) return static_cast<Count>(weights.real[row]);
    if (weights.whole != nullptr) return static_cast<Count>(weights.whole[row]);
    return Count{1};
}

// Adds to a count. Tables of the caller may hold anything: a sum that is too large wraps around.
template <class Count>
void add_count(Count& count, Count n) {
    if constexpr (std::is_integral_v<Count>)
        count = static_cast<Count>(static_cast<std::make_unsigned_t<Count>>(count) +
                                   static_cast<std::make_unsigned_t<Count>>(n));
    else
        count += n;
}

inline std::int64_t value_of(std::int32_t code, std::int32_t arity) {
    return code < 0 ? arity - 1 : code;
}

// Receives the finished (value of i, value of j) table of one class. Calls for different pairs
// may come from different threads; those for one pair come from one thread, classes ascending.
using PairSink =
    std::function<void(std::int64_t i, std::int64_t j, std::int32_t k, const std::int64_t* cells)>;

void count_by_bits(const CodedTable& table, const BitSlices& slices,
                   const Margins<std::int64_t>& margins, int n_threads, const PairSink& sink);

struct Partners {
    std::int64_t feature;
    std::vector<std::int64_t> others;  // each greater than `feature`
};

// Adds the rows to one (class, value, value) table per partner, a block of rows at a time.
template <class Count>
void scatter_pairs(const CodedTable& table, RowWeights weights, const Partners& pairs,
                   const std::vector<Count*>& tables);

// For each partner the sum of n ln n over all cells, without a table: rows are grouped by
// (class, value of the feature), and each group counts the partner's values in one short array.
template <class Count>
std::vector<std::int64_t> sum_grouped_pairs(const CodedTable& table, RowWeights weights,
                                            const RowOrder& order, const Partners& pairs,
                                            const FixedLog& log);

// Values of a feature, of which those from `known` on are missing ones.
struct ValueRange {
    std::int32_t arity, known;
};

// N I(X_i; X_j | Y) of the N rows in which both are known, in the units of `log`:
//
//     sum f(n_ijy) - sum f(n_iy) - sum f(n_jy) + sum f(n_y),  f(n) = n ln n
//
// from the (class, value of i, value of j) table.
template <class Count>
std::int64_t sum_known_cells(const Count* cells, std::int32_t n_classes, ValueRange i, ValueRange j,
                             const FixedLog& log);

// The same from the rows, to the same bits. O(rows + cells), or O(rows log rows) where cells are
// many more than rows.
template <class Count>
std::int64_t sum_known_pair(const CodedTable& table, RowWeights weights, std::int64_t i,
                            std::int64_t j, const FixedLog& log);

}  // namespace priorwise
