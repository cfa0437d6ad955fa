// Scores of Gaussians, of kernels and of pieces: each row is summed up by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

// Log densities of Gaussians, feature by feature.
// Of a row x and the Gaussian g that `place` has for it and a class, the quadratic part
//
//     -1/2 (x - mean_g)' precision_g (x - mean_g)
//
// as a sum over the features i of -1/2 (x - mean_g)_i (precision_g (x - mean_g))_i. A row is
// summed up alone and in a fixed order, so its score has the same bits whatever rows are beside it.
struct GaussianScore {
    std::int32_t n_values, n_classes;
    std::span<const double> mean;       // Gaussians x values
    std::span<const double> precision;  // Gaussians x values x values

    // score[row][y], and the terms of the features, terms[row][value][y], unless they are null, for
    // rows first .. last; `values` is rows x values, `place` rows x classes.
    void add_up(const double* values, const std::int32_t* place, std::int64_t first,
                std::int64_t last, double* score, double* terms) const;
};

// Scores that are weighted sums of a Gaussian kernel between a row and landmarks.
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

// Scores that are a sum over features: a constant per label, a piecewise quadratic per number.
// The score of class y of a row is
//
//     intercept[y] + sum over nominal features of label_score[first_label + code][y]
//                  + sum over numeric features of a + b u + c u^2,  u = z - left
//
// with z the number less `mean`, over `scale`, cut off at +-max_deviation, and (left, a, b, c) of
// the piece that z is in: as many pieces into its feature's as it has breaks at or below z. A
// missing number has z = 0 and adds its feature's missing_score. A code of -1 adds nothing.
struct PiecewiseScore {
    std::int32_t n_classes;
    double max_deviation;
    std::vector<double> intercept;
    std::vector<std::int64_t> first_label;  // per nominal feature, and one past the last
    std::vector<double> label_score;        // labels x classes
    std::vector<double> mean, scale;        // per numeric feature
    std::vector<std::int64_t> first_piece;  // per numeric feature, and one past the last
    std::vector<double> first_value;        // per piece; that of a feature's first is not used
    std::vector<double> left;               // per piece
    std::vector<double> coefficient;        // pieces x (a, b, c) x classes
    std::vector<double> missing_score;      // numeric features x classes

    // score[row * classes + y] for rows first .. last of columns that lie one after the other.
    void add_up(const std::int32_t* codes, const double* values, std::int64_t n_rows,
                std::int64_t first, std::int64_t last, double* score) const;
};

}  // namespace priorwise
