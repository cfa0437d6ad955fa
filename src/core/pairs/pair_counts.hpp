// Class x feature x feature counts, and the information in them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/fixed_log.hpp"

namespace priorwise {

// Coded rows by feature. A code of -1 is a missing value: `make_table` gives the
// feature one value more, behind its `n_known` known ones, to count it in.
struct CodedTable {
    std::vector<const std::int32_t*> codes;  // of each feature
    const std::int32_t* classes;
    std::int64_t n_features;
    std::int64_t n_rows;
    std::int32_t n_classes;
    std::vector<std::int32_t> arities, n_known;

    const std::int32_t* feature(std::int64_t i) const { return codes[static_cast<std::size_t>(i)]; }
    std::int32_t arity(std::int64_t i) const { return arities[static_cast<std::size_t>(i)]; }
    bool misses(std::int64_t i) const { return n_known[static_cast<std::size_t>(i)] < arity(i); }
};

// Checks every code against its arity (throws std::invalid_argument) and makes room for -1.
CodedTable make_table(std::vector<const std::int32_t*> codes, const std::int32_t* classes,
                      std::int64_t n_rows, std::int32_t n_classes,
                      std::span<const std::int32_t> arities, int n_threads);

// Weights of the rows: none (all one), whole numbers, or real numbers. Functions that take them
// throw std::invalid_argument if their sum is above 2^53.
struct RowWeights {
    const std::int64_t* whole = nullptr;
    const double* real = nullptr;
};

// Of the rows in which the features are known, times the share of these rows.
struct Information {
    std::vector<double> mutual;        // I(X_i; Y), nats
    std::vector<double> conditional;   // I(X_i; X_j | Y), nats, features x features
    std::vector<std::int64_t> n_seen;  // known values of X_i seen with class y, features x classes
};

// How pairs are counted: as bits, by scatter into dense tables, by grouping rows, or whichever
// should be fastest for each pair. Every way gives the same bits.
enum class Counting { fastest, bits, dense, grouped };

// Memory: one bit per row and value for features of few values, and small tables per thread.
Information measure_information(const CodedTable& table, RowWeights weights, Counting counting,
                                int n_threads);

// Where the table (class, value of i, value of j) of each pair i < j starts: pairs in the order
// (0,1), (0,2), ..., (1,2), ...; the last entry is the total number of cells.
std::vector<std::int64_t> pair_offsets(std::span<const std::int32_t> arities,
                                       std::int32_t n_classes);

// Tables kept for later: `margins` holds (class, value) for each feature in turn, `cells` the
// pairs as pair_offsets lays them out.
template <class Count>
struct PairTables {
    Count* margins;
    Count* cells;
};

// Adds every row to the tables; no code may be -1.
template <class Count>
void add_pair_counts(const CodedTable& table, RowWeights weights, PairTables<Count> tables,
                     int n_threads);

// The information in kept tables: bit for bit what measure_information finds for the same rows.
// Values of feature i from n_known[i] on are missing ones. `n_terms` bounds the non-empty cells of
// a table whose counts may be below one.
template <class Count>
Information information_of_counts(PairTables<const Count> tables,
                                  std::span<const std::int32_t> arities,
                                  std::span<const std::int32_t> n_known, std::int32_t n_classes,
                                  std::int64_t n_terms, int n_threads);

// The information of pairs of features of wide tables: computed when it is needed and not kept.
class PairMeasure {
  public:
    virtual ~PairMeasure() = default;

    // I(X_i; Y) and the values seen, without pairs: `conditional` is empty.
    virtual Information features() const = 0;

    // I(X_i; X_j | Y) of feature i with each of the others, bit for bit that of
    // `measure_information`; threads work on chunks of the others.
    virtual std::vector<double> measure(std::int64_t i, std::span<const std::int64_t> others,
                                        int n_threads) const = 0;
};

// The codes, classes and weights must live as long as the measure.
std::unique_ptr<const PairMeasure> make_pair_measure(CodedTable table, RowWeights weights,
                                                     int n_threads);

}  // namespace priorwise
