// Penalised multinomial logistic regression on indicators and numbers.
#pragma once

#include <cstdint>
#include <span>

namespace priorwise {

// Rows of a softmax whose score of class y is
//
//     w[y][0] + sum over j of w[y][1 + index[row][j]] + sum over q of w[y][first + q] value[row][q]
//
// with first = 1 + n_indicators; an index of -1 adds nothing. Indicators are never
// written as numbers: a nominal feature costs one index a row, however many values it has.
struct LogisticRows {
    std::int64_t n_rows;
    std::int32_t n_classes;
    std::int32_t n_indices;  // per row
    std::int32_t n_indicators;
    std::int32_t n_values;      // per row
    const std::int32_t* index;  // rows x indices
    const float* value;         // rows x values
    const std::int32_t* y;
    const double* row_weight;  // null: 1

    std::int64_t n_weights() const { return std::int64_t{1} + n_indicators + n_values; }
};

// Minimise sum of -log p(y | row) over the rows whose fold is not `held`, plus penalty / 2 times
// the squares of all weights but the intercepts, from the weights given (classes x n_weights), by
// limited-memory BFGS, O(rows x classes x (indices + values)) a step.
void fit_logistic(const LogisticRows& rows, const std::int32_t* fold, std::int32_t held,
                  double penalty, double tolerance, std::span<double> weights);

}  // namespace priorwise
