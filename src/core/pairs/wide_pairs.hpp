// The information of pairs of features of wide tables: computed when it is needed and not kept.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pairs/pair_counts.hpp"

namespace priorwise {

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
