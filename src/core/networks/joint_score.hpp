// Scores of rows of log joint probabilities.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "networks/superparent.hpp"

namespace priorwise {

// Sum over the rows of weight x log p(y | x), in nats.
double score_likelihood(std::span<const double> joint, const SuperParentSearch& search);

// Weight of the rows whose most probable class (the first of equals) is the true one.
double score_accuracy(std::span<const double> joint, const SuperParentSearch& search);

// Hand and Till's M measure: the mean over pairs of classes of the area under the ROC curve, O(rows
// log(rows) x classes). Classes without rows are left out.
double score_auc(std::span<const double> joint, const SuperParentSearch& search);

double score_joint(std::span<const double> joint, const SuperParentSearch& search);

}  // namespace priorwise
