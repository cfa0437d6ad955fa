// How far the scores of a factor may be from the truth, given the rows they were learnt from.
//
// Below a context with the distribution q, distributions are taken as Dirichlet(c q) with one
// concentration c per level. A context with N rows then has the posterior Dirichlet((N + c) p), p
// being its estimate, and the variance of the logarithm of p_x is, with a = (N + c) p_x,
//
//     v = trigamma(a) - trigamma(N + c) + (c q_x / a)^2 v_above
//
// A context without rows has N = 0 and p = q: it differs from the one above as its siblings do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scores/factor_product.hpp"

namespace priorwise {

// The concentration of each level: of the class, then of each parent. They are those that explain
// how far the estimates of contexts are from those above: with V = sum q (1 - q), the sum of
// squared differences is V / (c + 1) N / (N + c) on average.
std::vector<double> find_concentrations(const ScoreTree& tree);

// spread[row * classes + y] = sum over the factors of the variance of log p(x | y, parents).
// `proba` (rows x classes) are the probabilities of the classes; the row itself counts as that
// share of a row of each class, since it is as likely as it is to be met. The variance of a factor
// is computed for the shares zero and one; between, one over its root is linear in the share.
// Threads change no bit.
void sum_spreads(const FactorProduct& product,
                 std::span<const std::span<const std::int32_t>> columns, std::int64_t n_rows,
                 const double* proba, int n_threads, double* spread);

}  // namespace priorwise
