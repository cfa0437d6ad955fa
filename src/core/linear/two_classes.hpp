// Sums over the rows of a softmax of two classes, in which only the difference of both counts.
#pragma once

#include <span>
#include <vector>

#include "linear/fits.hpp"

namespace priorwise {

enum class Derivatives { kGradient, kDiagonal, kHessian };

// p(1) is 1 / (1 + exp(-z)) with
//
//     z = offset[1] - offset[0] + intercept[1] - intercept[0] + coefficients . d,
//     d = features[row][1] - features[row][0].
class TwoClassSums {
  public:
    explicit TwoClassSums(const ConditionalRows& rows);

    // The sum of -log p(y), at coefficients and the two intercepts. `gradient` becomes its
    // gradient, and if asked for `diagonal` its second derivatives, or the lower half of `hessian`
    // all of them.
    double add_up(std::span<const double> at, Derivatives asked, std::span<double> gradient,
                  std::span<double> diagonal, std::span<double> hessian);

  private:
    void add_block(std::size_t first, std::size_t n_rows, double shift, double& loss);

    const ConditionalRows& rows_;
    std::size_t n_, stride_;  // coefficients and the difference of intercepts; with zeros behind
    Derivatives asked_ = Derivatives::kGradient;
    std::vector<float> difference_;   // rows x stride
    std::vector<float> coefficient_;  // stride
    std::vector<double> gradient_, curvature_;
};

}  // namespace priorwise
