// Penalised conditional likelihood: fits of softmax scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

// Penalised conditional likelihood with features that differ by class.
// Rows of a softmax whose score of class y is
//
//     offset[y] + intercept[y] + sum over p of coefficient[p] * features[row][y][p].
struct ConditionalRows {
    std::int64_t n_rows;
    std::int32_t n_classes;
    std::int32_t n_features;
    const float* features;  // rows x classes x features
    std::span<const double> offset;
    const std::int32_t* y;
    const double* row_weight;  // null: 1
};

// The penalty of a parameter, with its own centre: penalty / 2 * (value - centre)^2.
// Parameters are the coefficients, then the intercepts.
struct Ridge {
    std::span<const double> centre;
    std::span<const double> penalty;
};

// Minimise the weighted sum of -log p(y | row) plus the penalties, from the centres: by damped
// Newton steps, O(rows x classes x parameters^2) each, or with more than 32 parameters by
// limited-memory BFGS, O(rows x classes x parameters) each. The same bits on every run.
std::vector<double> fit_conditional(const ConditionalRows& rows, const Ridge& ridge,
                                    double tolerance = 1e-6);

// Penalised multinomial logistic regression on indicators and numbers.
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

// proba[row][y] of some of the rows by the weights given, O(classes x (indices + values)) a row.
void predict_logistic(const LogisticRows& rows, std::span<const std::int64_t> some,
                      std::span<const double> weights, double* proba);

}  // namespace priorwise
