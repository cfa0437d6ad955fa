// Change of the log joint of every row by one arc between features.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/interrupt.hpp"
#include "networks/arc_searches.hpp"

namespace priorwise {

// Pairs of values as small numbers: of all pairs if they are few, else of those that occur.
struct PairCodes {
    std::vector<std::int64_t> code;  // per row; -1 where a value is missing
    std::int64_t n_codes;
};

inline PairCodes number_pairs(const std::int32_t* a, const std::int32_t* b, std::int32_t arity_a,
                              std::int32_t arity_b, std::int64_t n_rows) {
    PairCodes pairs{std::vector<std::int64_t>(static_cast<std::size_t>(n_rows)),
                    static_cast<std::int64_t>(arity_a) * arity_b};
    for (std::int64_t r = 0; r < n_rows; ++r)
        pairs.code[r] =
            a[r] < 0 || b[r] < 0 ? -1 : static_cast<std::int64_t>(a[r]) * arity_b + b[r];
    if (pairs.n_codes <= std::max<std::int64_t>(256, n_rows)) return pairs;
    auto distinct = pairs.code;
    sort_polling(distinct.begin(), distinct.end(), std::less{});
    distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
    if (!distinct.empty() && distinct[0] < 0) distinct.erase(distinct.begin());
    for (std::size_t r = 0; r < pairs.code.size(); ++r) {
        poll_every<1 << 14>(r);
        if (pairs.code[r] < 0) continue;
        pairs.code[r] = std::ranges::lower_bound(distinct, pairs.code[r]) - distinct.begin();
    }
    pairs.n_codes = static_cast<std::int64_t>(distinct.size());
    return pairs;
}

// Laplace estimates p(x | context) = (n + 1) / (N + arity), with a row optionally taken out of the
// counts of its own class. A context without other rows is uniform, as the formula says. A missing
// value (-1) is left out: of its feature, and of the arcs from and to it.
class ArcTerms {
  public:
    explicit ArcTerms(const SuperParentSearch& search)
        : search_(search), class_count_(static_cast<std::size_t>(search.n_classes), 0.0) {
        const auto n_classes = static_cast<std::size_t>(search.n_classes);
        for (std::size_t f = 0; f < search.columns.size(); ++f)
            value_count_.emplace_back(static_cast<std::size_t>(search.arity[f]) * n_classes, 0.0);
        known_count_.assign(search.columns.size(), class_count_);
        for (std::int64_t r = 0; r < search.n_rows; ++r) {
            const double w = search.weight ? search.weight[r] : 1.0;
            const auto y = static_cast<std::size_t>(search.y[r]);
            class_count_[y] += w;
            for (std::size_t f = 0; f < search.columns.size(); ++f)
                if (const auto x = search.columns[f][r]; x >= 0)
                    value_count_[f][static_cast<std::size_t>(x) * n_classes + y] += w;
        }
        for (std::size_t f = 0; f < search.columns.size(); ++f)
            for (std::size_t cell = 0; cell < value_count_[f].size(); ++cell)
                known_count_[f][cell % n_classes] += value_count_[f][cell];
    }

    // joint[row * classes + y] = log p(y) + sum over features of log p(x | y).
    std::vector<double> naive_joint() const {
        const std::int64_t n_classes = search_.n_classes;
        std::vector<double> joint(static_cast<std::size_t>(search_.n_rows * n_classes), 0.0);
        // The prior's denominator is the same for every class and drops out.
        for (std::int64_t r = 0; r < search_.n_rows; ++r)
            for (std::int64_t y = 0; y < n_classes; ++y)
                joint[r * n_classes + y] =
                    std::log(class_count_[y] - (y == search_.y[r] ? removed(r) : 0.0) + 1.0);
        for (std::size_t f = 0; f < search_.columns.size(); ++f) {
            const auto &count = value_count_[f], &known = known_count_[f];
            const double arity = search_.arity[f];
            std::vector<double> log_p(count.size());
            for (std::size_t cell = 0; cell < count.size(); ++cell)
                log_p[cell] = std::log((count[cell] + 1.0) /
                                       (known[cell % static_cast<std::size_t>(n_classes)] + arity));
            for (std::int64_t r = 0; r < search_.n_rows; ++r) {
                poll_every<1 << 12>(r);
                if (search_.columns[f][r] < 0) continue;
                const std::int64_t own = search_.y[r];
                const std::int64_t first = search_.columns[f][r] * n_classes;
                double* out = joint.data() + r * n_classes;
                for (std::int64_t y = 0; y < n_classes; ++y)
                    if (y != own) out[y] += log_p[first + y];
                const double out_of_it = removed(r);
                out[own] += std::log((count[first + own] - out_of_it + 1.0) /
                                     (known[own] - out_of_it + arity));
            }
        }
        return joint;
    }

    // joint += sign * (log p(x_child | y, x_parent) - log p(x_child | y)).
    void add_arc(std::int32_t parent, std::int32_t child, double sign, double* joint) const {
        const std::int64_t n_classes = search_.n_classes;
        const auto n_rows = search_.n_rows;
        const auto* above = search_.columns[parent];
        const auto* below = search_.columns[child];
        const double arity = search_.arity[child];
        const auto pairs =
            number_pairs(above, below, search_.arity[parent], search_.arity[child], n_rows);
        std::vector<double> count(static_cast<std::size_t>(pairs.n_codes * n_classes), 0.0);
        std::vector<std::int64_t> example(static_cast<std::size_t>(pairs.n_codes), -1);
        for (std::int64_t r = 0; r < n_rows; ++r) {
            poll_every<1 << 14>(r);
            if (pairs.code[r] < 0) continue;
            count[pairs.code[r] * n_classes + search_.y[r]] +=
                search_.weight ? search_.weight[r] : 1.0;
            example[pairs.code[r]] = r;
        }
        // Of each value of the parent and class: rows that have a value of the child.
        std::vector<double> context_count(value_count_[parent].size(), 0.0);
        for (std::int64_t pair = 0; pair < pairs.n_codes; ++pair)
            for (std::int64_t y = 0; y < n_classes && example[pair] >= 0; ++y)
                context_count[above[example[pair]] * n_classes + y] += count[pair * n_classes + y];
        const auto& known = known_count_[child];
        // Log of the ratio of the two estimates, from the counts without `out_of_it`.
        const auto term = [&](double n, double in_context, double of_value, double in_class,
                              double out_of_it) {
            return std::log((n - out_of_it + 1.0) * (in_class - out_of_it + arity) /
                            ((in_context - out_of_it + arity) * (of_value - out_of_it + 1.0)));
        };
        std::vector<double> terms(count.size(), 0.0);
        for (std::int64_t pair = 0; pair < pairs.n_codes; ++pair) {
            poll_every<1 << 12>(pair);
            if (example[pair] < 0) continue;
            const auto context = above[example[pair]] * n_classes;
            const auto value = below[example[pair]] * n_classes;
            for (std::int64_t y = 0; y < n_classes; ++y)
                terms[pair * n_classes + y] =
                    sign * term(count[pair * n_classes + y], context_count[context + y],
                                value_count_[child][value + y], known[y], 0.0);
        }
        for (std::int64_t r = 0; r < n_rows; ++r) {
            poll_every<1 << 12>(r);
            if (pairs.code[r] < 0) continue;
            const std::int64_t own = search_.y[r];
            const auto first = pairs.code[r] * n_classes;
            double* out = joint + r * n_classes;
            const double of_own =
                search_.leave_one_out
                    ? sign * term(count[first + own], context_count[above[r] * n_classes + own],
                                  value_count_[child][below[r] * n_classes + own], known[own],
                                  removed(r))
                    : terms[first + own];
            const double kept = out[own];
            for (std::int64_t y = 0; y < n_classes; ++y) out[y] += terms[first + y];
            out[own] = kept + of_own;
        }
    }

  private:
    double removed(std::int64_t row) const {
        if (!search_.leave_one_out) return 0.0;
        // A row is left out as a whole, whatever its weight.
        return search_.weight ? search_.weight[row] : 1.0;
    }

    const SuperParentSearch& search_;
    std::vector<double> class_count_;
    std::vector<std::vector<double>> known_count_;  // per feature and class: rows that have a value
    std::vector<std::vector<double>> value_count_;  // per feature: value x class
};

}  // namespace priorwise
