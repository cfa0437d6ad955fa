// A network as a prior of the classes times factors, ready to score rows.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "counts/factor.hpp"
#include "counts/factor_lookup.hpp"

namespace priorwise {

class FactorProduct {
  public:
    // Factors have as many classes as log_prior.
    FactorProduct(std::vector<std::shared_ptr<const OwnedFactor>> factors,
                  std::vector<double> log_prior);

    const std::vector<std::shared_ptr<const OwnedFactor>>& factors() const { return factors_; }
    const std::vector<double>& log_prior() const { return log_prior_; }
    // Columns that rows need at least.
    std::size_t n_columns() const { return n_columns_; }

    // joint[row * classes + y] = log_prior[y] + sum over the factors of log p(x | y, parents), or
    // the probabilities of the classes if `normalise`. Threads work on blocks of rows and change
    // no bit.
    void score(std::span<const std::span<const std::int32_t>> columns, std::int64_t n_rows,
               bool normalise, int n_threads, double* joint) const;

  private:
    using Lookup = std::shared_ptr<const FactorLookup>;
    std::vector<Lookup> find_lookups(std::span<const Factor> factors, std::int64_t n_rows,
                                     int n_threads) const;

    std::vector<std::shared_ptr<const OwnedFactor>> factors_;
    std::vector<double> log_prior_;
    std::size_t n_columns_ = 0;
    // Look-up tables of factors that have scored more rows than they have contexts.
    mutable std::mutex guard_;
    mutable std::int64_t n_scored_ = 0;
    mutable std::vector<Lookup> kept_;
    mutable std::vector<char> tried_;
};

}  // namespace priorwise
