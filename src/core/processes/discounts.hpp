// The discounts that are learnt, and the rising factorials they enter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/special.hpp"
#include "processes/process.hpp"

namespace priorwise {

constexpr double kDiscountStep = 0.02;
constexpr std::int32_t kDiscounts = 48;

// Discount number i of those that are learnt.
inline double discount_at(std::int32_t i) {
    return std::min(kMostDiscount, (i + 0.5) * kDiscountStep);
}

inline std::int32_t nearest_discount(double a) {
    const auto i = static_cast<std::int32_t>(a / kDiscountStep);
    return std::clamp(i, 0, kDiscounts - 1);
}

// log of (c | a)_T = c (c + a) ... (c + (T - 1) a).
inline double log_rising(double c, double a, std::int64_t n_tables) {
    const auto tables = static_cast<double>(n_tables);
    const double growth = a * tables / c;
    if (n_tables <= 32) {
        LogProduct product;
        for (std::int64_t i = 0; i < n_tables; ++i)
            product.multiply(c + a * static_cast<double>(i));
        return product.log();
    }
    // Here differences of log_gamma would have no digits left.
    if (growth < 1e-4)
        return tables * std::log(c) + 0.5 * growth * (tables - 1.0) -
               growth * growth * (tables - 1.5) / 6.0;
    return tables * std::log(a) + log_gamma(c / a + tables) - log_gamma(c / a);
}

}  // namespace priorwise
