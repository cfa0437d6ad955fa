// Sums of log-losses.
#pragma once

#include <cmath>

namespace priorwise {

// Adds up weight x (linear + log(factor)) with factors from 1 to 1e100. Logarithms are slow: for
// weights of one, the logarithm of the product of many factors is taken.
class LogSum {
  public:
    void add(double weight, double linear, double factor) {
        sum_ += weight * linear;
        if (weight != 1.0) {
            sum_ += weight * std::log(factor);
            return;
        }
        product_ *= factor;
        if (product_ < kLarge) return;
        sum_ += std::log(product_);
        product_ = 1.0;
    }
    double total() const { return sum_ + std::log(product_); }

  private:
    static constexpr double kLarge = 1e200;

    double sum_ = 0.0, product_ = 1.0;
};

}  // namespace priorwise
