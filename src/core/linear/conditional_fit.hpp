// Penalised conditional likelihood with features that differ by class.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

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

}  // namespace priorwise
