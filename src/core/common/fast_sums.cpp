#include "common/fast_sums.hpp"

namespace priorwise {

PRIORWISE_WIDE double sum_products(const double* a, const double* b, std::size_t n) {
    return dot(a, b, static_cast<std::int32_t>(n));
}

PRIORWISE_WIDE void add_scaled(const double* from, double scale, std::size_t n, double* to) {
    for (std::size_t i = 0; i < n; ++i) to[i] += scale * from[i];
}

PRIORWISE_WIDE void exponentiate_minus(std::span<double> x) {
    for (auto& one : x) one = exp_of_minus(one);
}

}  // namespace priorwise
