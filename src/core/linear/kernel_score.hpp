// Scores that are weighted sums of a Gaussian kernel between a row and landmarks.
#pragma once

#include <cstdint>
#include <span>

namespace priorwise {

// The score of class y of a row is
//
//     intercept[y] + sum over landmarks l of coefficient[y][l] exp(-rate d(row, l)^2)
//
// d^2 adds up the squared differences of the values and, for each index, 1 for each side that is
// not -1, less 2 if both are equal and not -1: the squared distance of indicators. A row is summed
// up alone and in a fixed order, so its score has the same bits whatever rows are beside it.
struct KernelScore {
    std::int32_t n_landmarks, n_indices, n_values, n_classes;
    double rate;
    std::span<const double> intercept;
    std::span<const double> coefficient;  // classes x landmarks
    std::span<const std::int32_t> index;  // indices x landmarks
    std::span<const float> value;         // values x landmarks

    // score[row * n_classes + y] for rows first .. last; row_index and row_value are rows x
    // indices and rows x values.
    void add_up(const std::int32_t* row_index, const float* row_value, std::int64_t first,
                std::int64_t last, double* score) const;
};

}  // namespace priorwise
