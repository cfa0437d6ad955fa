// Search for a one-dependence network by superparents and favourite children.
#pragma once

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

}  // namespace priorwise
