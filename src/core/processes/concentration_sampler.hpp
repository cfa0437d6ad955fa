// Draws of the concentrations of a Gibbs sampler.
//
// With q_j ~ Beta(c, N_j) and y_ji ~ Bernoulli(c / (c + a i)) for i < T_j, the conditional of c is
// Gamma(shape + sum y_ji, rate + sum -log q_j) (Teh 2006). Without discounts every y_ji is one, and
// as -log Beta(c, N) = sum over i < N of Exp(1) / (c + i), nodes of one group share Gamma variates
// for the first kShared terms: their cost does not grow with the number of nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "common/special.hpp"
#include "processes/seated_rows.hpp"

namespace priorwise {

constexpr double kLeastSampled = 1e-12;  // least concentration

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

}  // namespace priorwise
