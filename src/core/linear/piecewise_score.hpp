// Scores that are a sum over features: a constant per label, a piecewise quadratic per number.
#pragma once

#include <cstdint>
#include <vector>

namespace priorwise {

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
