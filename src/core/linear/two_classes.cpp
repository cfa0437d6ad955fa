#include "linear/two_classes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/fast_sums.hpp"
#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// Rows that are summed up together, and numbers that are read together.
constexpr std::size_t kBlock = 64, kLanes = 8, kHalf = 4;

// Scores of a block of rows.
PRIORWISE_WIDE void find_scores(const float* difference, std::span<const float> coefficient,
                                double shift, std::span<double> score) {
    const auto stride = static_cast<std::int32_t>(coefficient.size());
    for (auto& z : score) {
        z = shift + dot(coefficient.data(), difference, stride);
        difference += stride;
    }
}

// exp(-|z|) of each score.
PRIORWISE_WIDE void find_odds(std::span<const double> score, double* odds) {
    for (std::size_t i = 0; i < score.size(); ++i) odds[i] = exp_of_minus(std::abs(score[i]));
}

PRIORWISE_WIDE void add_gradient(const float* difference, std::span<const double> miss,
                                 std::span<double> gradient) {
    for (const double own : miss) {
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += own * difference[i];
        difference += gradient.size();
    }
}

PRIORWISE_WIDE void add_diagonal(const float* difference, std::span<const double> curve,
                                 std::span<double> diagonal) {
    for (const double own : curve) {
        for (std::size_t i = 0; i < diagonal.size(); ++i)
            diagonal[i] += own * difference[i] * difference[i];
        difference += diagonal.size();
    }
}

// The lower half of the sums of curve x difference x difference^T, with up to kHalf - 1 numbers
// beyond it in each line.
PRIORWISE_WIDE void add_products(const float* difference, std::span<const double> curve,
                                 std::size_t n, std::size_t stride, double* products) {
    for (const double own : curve) {
        double* line = products;
        for (std::size_t i = 0; i < n; ++i, line += stride) {
            const double scaled = own * difference[i];
            for (std::size_t first = 0; first <= i; first += kHalf)
                for (std::size_t j = first; j < first + kHalf; ++j)
                    line[j] += scaled * difference[j];
        }
        difference += stride;
    }
}

}  // namespace

TwoClassSums::TwoClassSums(const ConditionalRows& rows)
    : rows_(rows),
      n_(static_cast<std::size_t>(rows.n_features) + 1),
      stride_((n_ + kLanes - 1) / kLanes * kLanes),
      difference_(static_cast<std::size_t>(rows.n_rows) * stride_),
      coefficient_(stride_),
      gradient_(stride_) {
    const auto n = n_ - 1;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows.n_rows); ++row) {
        const float* of_first = rows.features + 2 * row * n;
        float* own = difference_.data() + row * stride_;
        std::transform(of_first + n, of_first + 2 * n, of_first, own, std::minus<>());
        own[n] = 1.0F;
    }
}

double TwoClassSums::add_up(std::span<const double> at, Derivatives asked,
                            std::span<double> gradient, std::span<double> diagonal,
                            std::span<double> hessian) {
    asked_ = asked;
    std::copy_n(at.begin(), n_ - 1, coefficient_.begin());
    std::ranges::fill(gradient_, 0.0);
    curvature_.assign(asked == Derivatives::kHessian ? n_ * stride_ : stride_, 0.0);
    const double shift = rows_.offset[1] + at[n_] - (rows_.offset[0] + at[n_ - 1]);
    const auto n_rows = static_cast<std::size_t>(rows_.n_rows);
    double loss = 0.0;
    for (std::size_t first = 0; first < n_rows; first += kBlock) {
        poll_interrupt();
        add_block(first, std::min(kBlock, n_rows - first), shift, loss);
    }
    // The first intercept lowers what the second raises.
    std::copy_n(gradient_.begin(), n_ - 1, gradient.begin());
    gradient[n_ - 1] = -gradient_[n_ - 1];
    gradient[n_] = gradient_[n_ - 1];
    if (asked == Derivatives::kDiagonal) {
        std::copy_n(curvature_.begin(), n_, diagonal.begin());
        diagonal[n_] = curvature_[n_ - 1];
    }
    if (asked == Derivatives::kHessian) {
        const auto width = n_ + 1;
        for (std::size_t i = 0; i < n_; ++i)
            std::copy_n(curvature_.begin() + static_cast<std::ptrdiff_t>(i * stride_), i + 1,
                        hessian.begin() + static_cast<std::ptrdiff_t>(i * width));
        double* first = hessian.data() + (n_ - 1) * width;
        double* second = first + width;
        for (std::size_t j = 0; j + 1 < n_; ++j) {
            second[j] = first[j];
            first[j] = -first[j];
        }
        second[n_] = first[n_ - 1];
        second[n_ - 1] = -first[n_ - 1];
    }
    return loss;
}

void TwoClassSums::add_block(std::size_t first, std::size_t n_rows, double shift, double& loss) {
    const float* difference = difference_.data() + first * stride_;
    double score[kBlock], odds[kBlock], miss[kBlock], curve[kBlock];
    find_scores(difference, coefficient_, shift, {score, n_rows});
    find_odds({score, n_rows}, odds);
    LogSum sum;
    for (std::size_t i = 0; i < n_rows; ++i) {
        const auto row = first + i;
        const double weight = rows_.row_weight ? rows_.row_weight[row] : 1.0;
        const bool is_second = rows_.y[row] == 1;
        const double share = 1.0 / (1.0 + odds[i]);
        const double p = score[i] < 0.0 ? odds[i] * share : share;
        miss[i] = weight * (is_second ? p - 1.0 : p);
        curve[i] = weight * odds[i] * share * share;
        if (weight > 0.0)
            sum.add(weight, std::max(is_second ? -score[i] : score[i], 0.0), 1.0 + odds[i]);
    }
    loss += sum.total();
    add_gradient(difference, {miss, n_rows}, gradient_);
    if (asked_ == Derivatives::kDiagonal) add_diagonal(difference, {curve, n_rows}, curvature_);
    if (asked_ == Derivatives::kHessian)
        add_products(difference, {curve, n_rows}, n_, stride_, curvature_.data());
}

}  // namespace priorwise
