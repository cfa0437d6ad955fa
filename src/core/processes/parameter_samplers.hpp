// Draws of the concentrations and of the discounts of a Gibbs sampler.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "common/special.hpp"
#include "processes/seated_rows.hpp"
#include "processes/stirling.hpp"

namespace priorwise {

constexpr double kLeastSampled = 1e-12;  // least concentration

// Draws of the concentrations of a Gibbs sampler.
//
// With q_j ~ Beta(c, N_j) and y_ji ~ Bernoulli(c / (c + a i)) for i < T_j, the conditional of c is
// Gamma(shape + sum y_ji, rate + sum -log q_j) (Teh 2006). Without discounts every y_ji is one, and
// as -log Beta(c, N) = sum over i < N of Exp(1) / (c + i), nodes of one group share Gamma variates
// for the first kShared terms: their cost does not grow with the number of nodes.
template <bool kDiscounted>
class ConcentrationSampler {
  public:
    using Rows = SeatedRows<kDiscounted>;

    explicit ConcentrationSampler(const Rows& rows)
        : shares_(!kDiscounted &&
                  static_cast<std::int64_t>(rows.model.n_groups) * kShared <= rows.tree.n_nodes()) {
        if (!shares_) return;
        leaf_terms_.n_nodes.resize(rows.opened.size() * kShared);
        add_terms(rows, rows.leaves, leaf_terms_);
    }

    void sample(const Rows& rows, Rng& rng) {
        auto& concentration = rows.state.concentration;
        // The prior is added last without discounts, first with them.
        shape_.assign(concentration.size(), rows.model.shape);
        rate_.assign(concentration.size(), kDiscounted ? rows.model.rate : 0.0);
        if (shares_) {
            add_shared_terms(rows, rng);
        } else {
            for (const auto* nodes : {&rows.leaves, &rows.inner})
                for (const auto node : *nodes)
                    if (rows.total[node] > 0) add_node(rows, node, rng);
        }
        for (std::size_t g = 0; g < concentration.size(); ++g) {
            if constexpr (!kDiscounted) {
                shape_[g] += rows.opened[g];
                rate_[g] = rows.model.rate + rate_[g];
            }
            concentration[g] =
                std::clamp(rng.gamma(shape_[g]) / rate_[g], kLeastSampled, kMostConcentration);
        }
    }

  private:
    static constexpr std::int32_t kShared = 32;
    static constexpr std::int64_t kSingleCoins = 4096;

    void add_node(const Rows& rows, std::int32_t node, Rng& rng) {
        poll_every<256>(node);
        if constexpr (kDiscounted)
            shape_[rows.model.group[node]] += count_openings(rows, node, rng);
        add_minus_log_q(rows, node, 0, rng);
    }

    // -log of Beta(c + skipped, N - skipped): the terms i >= skipped of the sum.
    void add_minus_log_q(const Rows& rows, std::int32_t node, std::int32_t skipped, Rng& rng) {
        const auto g = rows.model.group[node];
        const double a = rows.state.concentration[g] + skipped;
        const auto b = rows.total[node] - skipped;
        rate_[g] += b == 1 && !kDiscounted ? -std::log(rng.uniform()) / a
                                           : rng.minus_log_beta(a, static_cast<double>(b));
    }

    // The sum of y_i ~ Bernoulli(c / (c + a i)) over i < T; beyond the first ones a normal number
    // of the same mean and variance.
    static double count_openings(const Rows& rows, std::int32_t node, Rng& rng) {
        const double c = rows.concentration(node);
        const double a = rows.discount(node);
        const auto n_tables = rows.tables[node];
        if (a == 0.0) return static_cast<double>(n_tables);
        double sum = 1.0;
        const auto n_single = std::min(n_tables, kSingleCoins);
        for (std::int64_t i = 1; i < n_single; ++i)
            sum += rng.uniform() * (c + a * static_cast<double>(i)) < c ? 1.0 : 0.0;
        if (n_tables <= n_single) return sum;
        const double ratio = c / a;
        const auto first = ratio + static_cast<double>(n_single);
        const auto last = ratio + static_cast<double>(n_tables);
        const double mean = ratio * (digamma(last) - digamma(first));
        const double variance = mean - ratio * ratio * (trigamma(first) - trigamma(last));
        return sum + std::max(0.0, mean + std::sqrt(std::max(0.0, variance)) * rng.normal());
    }

    // Of some nodes: how many of each group have N rows, N = 1..kShared or more, and those that
    // have more.
    struct Terms {
        std::vector<std::int32_t> n_nodes;
        std::vector<std::int32_t> long_nodes;
    };

    static void add_terms(const Rows& rows, const std::vector<std::int32_t>& nodes, Terms& terms) {
        for (const auto node : nodes) {
            const auto total = rows.total[node];
            if (total == 0) continue;
            const auto place = std::min<std::int64_t>(total, kShared) - 1;
            ++terms.n_nodes[rows.model.group[node] * kShared + place];
            if (total > kShared) terms.long_nodes.push_back(node);
        }
    }

    void add_shared_terms(const Rows& rows, Rng& rng) {
        terms_ = leaf_terms_;
        add_terms(rows, rows.inner, terms_);
        for (std::size_t g = 0; g < rate_.size(); ++g) {
            std::int32_t n_longer = 0;  // nodes of the group with N > i
            for (std::int32_t i = kShared - 1; i >= 0; --i) {
                n_longer += terms_.n_nodes[g * kShared + static_cast<std::size_t>(i)];
                if (n_longer > 0)
                    rate_[g] += rng.gamma(n_longer) / (rows.state.concentration[g] + i);
            }
        }
        for (const auto node : terms_.long_nodes) add_minus_log_q(rows, node, kShared, rng);
    }

    bool shares_;
    Terms leaf_terms_, terms_;          // of the leaves, of all nodes
    std::vector<double> shape_, rate_;  // per group
};

// Discounts of a Gibbs sampler: ratios of Stirling numbers for them, and draws of those learnt.
//
// Discounts that are learnt have values 0.01, 0.03, ..., 0.95 with prior probabilities in
// proportion to (1 - a)^2, the density of Beta(1, 3), so that all groups share few tables of
// Stirling ratios. A sweep draws each within a window of 5 that lies at random over its present
// value, from its conditional (1 - a)^2 prod_j (c | a)_T_j prod_k S_a(n_jk, t_jk).

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

// V(n, t) = S_a(n, t - 1) / S_a(n, t) for one discount, which may be zero.
class DiscountRatios {
  public:
    static constexpr std::int64_t kTableRows = DiscountedStirling::kTableRows;

    DiscountRatios(double discount, std::int64_t most_rows) {
        if (discount > 0.0) {
            discounted_ = std::make_unique<DiscountedStirling>(discount, most_rows);
        } else {
            plain_ = std::make_unique<StirlingRatios>();
        }
    }
    double operator()(std::int64_t n, std::int64_t t) {
        return discounted_ ? (*discounted_)(n, t) : (*plain_)(n, t);
    }
    double in_table(std::int64_t n, std::int64_t t) { return (*this)(n, t); }
    // log S_a(n, t) but for terms that do not depend on a; not for a = 0.
    double log_number(std::int64_t n, std::int64_t t) { return discounted_->log_number(n, t); }

  private:
    std::unique_ptr<DiscountedStirling> discounted_;
    std::unique_ptr<StirlingRatios> plain_;
};

// Without discounts all nodes share the ratios, and there is nothing to draw.
class NoDiscounts {
  public:
    using Rows = SeatedRows<false>;

    explicit NoDiscounts(const Rows&) {}
    StirlingRatios& ratios_of(std::int32_t) { return ratios_; }
    void sample(const Rows&, Rng&) {}

  private:
    StirlingRatios ratios_;
};

class DiscountSampler {
  public:
    using Rows = SeatedRows<true>;

    // Moves discounts that are learnt to the nearest of their values.
    explicit DiscountSampler(const Rows& rows) : of_group_(rows.state.discount.size()) {
        const auto& tree = rows.tree;
        // A cell has at most the rows that are counted there, whatever its children pass on.
        for (const double n : tree.counts) most_rows_ = std::max<std::int64_t>(most_rows_, n);
        if (rows.model.learns_discounts) {
            for (auto& a : rows.state.discount) a = discount_at(nearest_discount(a));
            nodes_of_.resize(of_group_.size());
            for (std::int32_t node = 1; node < tree.n_nodes(); ++node)
                if (tree.totals[node] > 1.0) nodes_of_[rows.model.group[node]].push_back(node);
        }
        for (std::size_t g = 0; g < of_group_.size(); ++g)
            of_group_[g] = &find_ratios(rows.state.discount[g]);
    }

    DiscountRatios& ratios_of(std::int32_t group) { return *of_group_[group]; }

    // Draw the discounts that are learnt.
    void sample(const Rows& rows, Rng& rng) {
        for (std::size_t g = 0; g < nodes_of_.size(); ++g) {
            rows.state.discount[g] = draw(rows, g, rng);
            of_group_[g] = &find_ratios(rows.state.discount[g]);
        }
    }

  private:
    static constexpr std::int32_t kWindow = 5;

    DiscountRatios& find_ratios(double a) {
        auto& ratios = by_discount_[a];
        if (!ratios) ratios = std::make_unique<DiscountRatios>(a, most_rows_);
        return *ratios;
    }

    double draw(const Rows& rows, std::size_t g, Rng& rng) {
        const auto now = nearest_discount(rows.state.discount[g]);
        const auto place = static_cast<std::int32_t>(rng.uniform() * kWindow);
        const auto first = now - std::min(place, kWindow - 1);
        const auto low = std::max(0, first);
        const auto high = std::min(kDiscounts, first + kWindow);
        std::array<double, kWindow> weight;
        double largest = -1e300;
        for (auto i = low; i < high; ++i)
            largest = std::max(largest, weight[i - low] = log_probability(rows, g, discount_at(i)));
        double sum = 0.0;
        for (auto i = low; i < high; ++i)
            sum += weight[i - low] = std::exp(weight[i - low] - largest);
        double left = rng.uniform() * sum;
        auto chosen = low;
        while (chosen + 1 < high && left >= weight[chosen - low]) left -= weight[chosen++ - low];
        return discount_at(chosen);
    }

    // The terms of the joint probability that depend on the discount of a group.
    double log_probability(const Rows& rows, std::size_t g, double a) {
        auto& ratios = find_ratios(a);
        const auto& start = rows.tree.row_start;
        const double c = rows.state.concentration[g];
        double sum = 2.0 * std::log(1.0 - a);
        for (const auto node : nodes_of_[g]) {
            poll_every<256>(node);
            sum += log_rising(c, a, rows.tables[node]);
            for (auto cell = start[node]; cell < start[node + 1]; ++cell)
                if (rows.t[cell] < rows.n[cell])
                    sum += ratios.log_number(rows.n[cell], rows.t[cell]);
        }
        return sum;
    }

    std::int64_t most_rows_ = 1;  // of any cell
    std::map<double, std::unique_ptr<DiscountRatios>> by_discount_;
    std::vector<DiscountRatios*> of_group_;
    std::vector<std::vector<std::int32_t>> nodes_of_;  // nodes of each group with rows to share
};

}  // namespace priorwise
