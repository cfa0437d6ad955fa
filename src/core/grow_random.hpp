// Growth of random trees on the same rows: what the trees of a forest share.
#pragma once

#include <vector>

#include "fixed_log.hpp"
#include "splits.hpp"

namespace priorwise {

class RandomGrowth {
  public:
    // total_weight: an upper bound of the growth weight of any tree.
    RandomGrowth(std::span<const Feature> features, std::int64_t n_rows, double total_weight);

    // See grow_random_tree. Threads may call it at the same time.
    GrownTree grow(const GrowthRows& rows, const GrowthRules& rules) const;

  private:
    FixedLog xlogx_;
    std::vector<bool> has_missing_;  // per feature
};

}  // namespace priorwise
