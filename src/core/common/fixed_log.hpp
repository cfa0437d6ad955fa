// Sums of n ln n in fixed point.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/require.hpp"

namespace priorwise {

// Entropies are sums of n ln n. Each term is rounded to a multiple of 2^-shift and added as an
// integer, so a sum has the same bits in any order of rows, values, features or threads, and
// gains that are equal in exact arithmetic compare equal. The shift leaves room for `total`
// ln(`total`) and for `n_terms` terms of counts below one.
//
// Counts of a total below one are multiplied by a power of two that brings the total to between one
// and two: entropies do not depend on the scale of the counts, and a fixed point would leave small
// ones no digits. So only sums in which as much is added as is taken away, as N ln N - sum n ln n,
// are right in nats.
class FixedLog {
  public:
    // `n_rows` says how large a table of logarithms is worth its time; no result depends on it.
    // Throws std::invalid_argument if the total is not a number from 0 to 2^60.
    FixedLog(double total, std::int64_t n_terms, std::int64_t n_rows) {
        require(total >= 0.0 && total <= kMostTotal,
                "weights must have a sum of at most 2**60, got ", total);
        if (total > 0.0 && total < 1.0) scale_ = -std::ilogb(total);
        total = std::ldexp(total, scale_);
        const double largest =
            std::max(total * std::log(std::max(total, 2.0)), static_cast<double>(n_terms) + 1.0);
        // Four such sums are added before the scale is undone.
        shift_ = 60 - (std::ilogb(largest) + 1);
        // Large weights of few rows are not worth a table of all counts.
        const double most = std::min(kTableSize, kPerRow * static_cast<double>(n_rows) + 1.0);
        const auto size = scale_ > 0 ? 1 : static_cast<std::size_t>(std::min(total, most)) + 1;
        table_.resize(size);
        for (std::size_t n = 0; n < size; ++n) table_[n] = compute(static_cast<double>(n));
    }

    template <class Count>
    std::int64_t operator()(Count n) const {
        if constexpr (std::is_integral_v<Count>) {
            if (static_cast<std::size_t>(n) < table_.size()) {
                return table_[static_cast<std::size_t>(n)];
            }
        }
        return compute(static_cast<double>(n));
    }

    double to_nats(std::int64_t sum) const {
        return std::ldexp(static_cast<double>(sum), -shift_ - scale_);
    }

  private:
    static constexpr double kTableSize = 1 << 20;
    static constexpr double kPerRow = 8.0;
    static constexpr double kMostTotal = 0x1p60;

    std::int64_t compute(double n) const {
        if (!(n > 0.0)) return 0;
        if (scale_ > 0) n = std::ldexp(n, scale_);
        return std::llround(std::ldexp(n * std::log(n), shift_));
    }

    int scale_ = 0;
    int shift_ = 0;
    std::vector<std::int64_t> table_;
};

}  // namespace priorwise
