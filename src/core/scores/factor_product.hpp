// A network as a prior of the classes times factors, ready to score rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scores/score_tree.hpp"

namespace priorwise {

class FactorProduct {
  public:
    // Throws std::invalid_argument unless rows may walk the factors, and if a score is NaN or
    // above all numbers, or no class has a probability.
    FactorProduct(ScoreArrays arrays, std::vector<double> log_prior);

    std::size_t n_factors() const { return arrays_.size(); }
    ScoreTree factor(std::size_t i) const { return index_.tree(arrays_, i); }
    const ScoreArrays& arrays() const { return arrays_; }
    const std::vector<double>& log_prior() const { return log_prior_; }

    // Throws std::invalid_argument unless the factors are those of a network, each behind the
    // factors of its parents, and score rows with codes below `arity`, per feature.
    void check_network(std::span<const std::int32_t> arity) const;

    // joint[row * classes + y] = log_prior[y] + sum over the factors of log p(x | y, parents), or
    // the probabilities of the classes if `normalise`. Threads work on blocks of rows and change
    // no bit.
    void score(std::span<const std::span<const std::int32_t>> columns, std::int64_t n_rows,
               bool normalise, int n_threads, double* joint) const;

  private:
    ScoreArrays arrays_;
    ScoreIndex index_;
    std::vector<double> log_prior_;
};

}  // namespace priorwise
