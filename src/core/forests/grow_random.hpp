// Growth of random trees on the same rows.
#pragma once

#include <vector>

#include "common/fixed_log.hpp"
#include "forests/forest.hpp"

namespace priorwise {

struct RandomTree {
    std::vector<ForestNode> nodes;          // level by level
    std::vector<double> gain;               // per node
    std::vector<std::int32_t> leaf_of_row;  // per row; -1 without weight
};

class RandomGrowth {
  public:
    // total_weight: an upper bound of the growth weight of any tree.
    RandomGrowth(std::span<const Feature> features, std::int64_t n_rows, double total_weight);

    // At every node the best of n_random_splits random splits of each of max_features random
    // features, until the growth rows of a node are pure or alike. Missing numbers go to a random
    // side, unknown codes with the rest. Threads may call it at the same time.
    RandomTree grow(const GrowthRows& rows, const GrowthRules& rules) const;

  private:
    FixedLog xlogx_;
    std::vector<bool> has_missing_;  // per feature
};

}  // namespace priorwise
