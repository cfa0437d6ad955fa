// Searches for the arcs of a network: superparents with favourite children, parents of largest
// information, and hill climbing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

enum class SearchScore { kLikelihood, kAccuracy, kAuc };

struct SuperParentSearch {
    std::vector<const std::int32_t*> columns;  // codes of each feature
    std::span<const std::int32_t> arity;
    const std::int32_t* y;
    const double* weight;  // null: 1
    std::int64_t n_rows;
    std::int32_t n_classes;
    SearchScore score;
    bool leave_one_out;  // whether a row is taken out of the counts that judge it
};

struct SuperParentArcs {
    std::vector<std::int32_t> parent;  // per feature, -1 for an orphan
    std::vector<double> scores;        // of naive Bayes, then after each arc
};

// Start from naive Bayes. Find the feature which, as parent of all orphans, gives the best score,
// then its best child alone; keep that arc if it improves the score, else stop. Estimates are
// Laplace's. The log joint of every row is kept, and so is the change of it by each feature as a
// superparent, so a candidate costs O(rows x classes). Threads work on candidates, each of which is
// summed in the order of the rows, so that the result does not depend on their number.
SuperParentArcs find_superparents(const SuperParentSearch& search, int n_threads);

// Parents of the features of a k-dependence network, of which the information of pairs is known.
struct ParentSearch {
    std::span<const double> conditional;  // features x features: I(X_i; X_j | Y)
    std::span<const double> free;         // features x classes: values that occur, less one
    std::size_t n_features, n_classes;
    std::span<const std::int64_t> order;
    std::size_t max_parents;
    // The product of two rows of `free` over it is what chance shows; 0: nothing is subtracted.
    double bias_divisor;
};

// For each feature of the order the earlier ones of largest information less bias, by decreasing
// value, of equals the earlier one first. Where there is a bias, something must remain.
// O(features^2 (classes + log parents)).
std::vector<std::vector<std::int64_t>> find_parents(const ParentSearch& search);

// Learning the graph of a Bayesian network by hill climbing with a tabu list.
//
// A step adds, removes or reverses the arc that raises the score most, or lowers it least, without
// a cycle. The score is a sum over families (a variable and its parents), with n_jk the rows of
// state k in context j, N_j their sum, q contexts and K states:
//
//     BIC   sum_jk n_jk log(n_jk / N_j) - log(N) / 2 * q (K - 1)
//     BDeu  sum_j [lgamma(s / q) - lgamma(s / q + N_j)]
//           + sum_jk [lgamma(s / qK + n_jk) - lgamma(s / qK)],   s rows of prior
//
// Pairs of variables whose arc was changed in the last n_tabu steps are left as they are, unless
// the step leads to the best score of all. The search ends after n_tabu steps without one, and
// returns the graph that had it.

enum class GraphScore { kBic, kBdeu };

struct GraphSearch {
    std::vector<const std::int32_t*> columns;  // codes of each variable, none missing
    std::span<const std::int32_t> arity;
    const double* weight;  // null: every row counts once
    std::int64_t n_rows;
    GraphScore score;
    double prior_rows;  // s of BDeu
    std::int32_t max_parents;
    std::int32_t n_tabu;
    int n_threads;
};

// The parents of each variable, in ascending order.
std::vector<std::vector<std::int32_t>> climb_hill(const GraphSearch& search);

}  // namespace priorwise
