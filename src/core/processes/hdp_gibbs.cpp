// Gibbs sampling for the hierarchical Dirichlet model.
//
// A sweep draws every pseudo-count t_uk with n_uk > 1 from its conditional. With v the parent of u,
// one more table changes the joint of process.hpp by the factor
//
//     p(t + 1) / p(t) = c_u / V(n_uk, t + 1) * (n_vk + V(n_vk, t_vk)) / (N_v + c_v)
//
// (V: ratios of Stirling numbers; n_vk and N_v with t in them), and by
// c_u / V(n_uk, t + 1) * (n_vk + c0 / K) / (N_v + c0) below the root: no logarithm, no exponential.
// Only t within a window of 21 around the present value are looked at. The window lies at random
// over the value, so each of its members would have chosen it with the same probability and the
// move leaves the posterior unchanged; a window centred on the present value would not.
//
// Concentrations follow in every sweep: with q_j ~ Beta(c, N_j), the conditional of c is
// Gamma(shape + sum T_j, rate + sum -log q_j).
#include <algorithm>
#include <array>
#include <cmath>

#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "processes/process.hpp"
#include "processes/run_sampler.hpp"
#include "processes/stirling.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kWindow = 21;
constexpr double kNegligible = 1e-17;
constexpr double kLeastSampled = 1e-12;  // least concentration
// -log Beta(c, N) = sum over i < N of Exp(1) / (c + i), so nodes of one group share Gamma variates
// for the first kShared terms: their cost does not grow with the number of nodes.
constexpr std::int32_t kShared = 32;

// Kept apart so that a step of the window costs one division.
struct Fraction {
    double numerator;
    double denominator;
};

struct LeafCell {
    std::int32_t cell;
    std::int32_t node;
};

class GibbsSampler {
  public:
    GibbsSampler(const ProcessModel& model, ProcessState& state, std::uint64_t seed)
        : model_(model),
          tree_(model.tree),
          state_(state),
          rng_(seed),
          leaf_(find_leaves(tree_)),
          n_(tree_.counts.size(), 0),
          t_(tree_.counts.size(), 0),
          total_(leaf_.size(), 0),
          group_passed_(static_cast<std::size_t>(model.n_groups), 0),
          group_minus_log_q_(group_passed_.size(), 0.0),
          phi_(n_.size()),
          shares_(static_cast<std::int64_t>(model.n_groups) * kShared <= tree_.n_nodes()) {
        for (auto& c : state_.concentration) c = std::max(c, kLeastSampled);
        seat_rows();
        for (std::int32_t node = 1; node < tree_.n_nodes(); ++node)
            (leaf_[node] ? leaves_ : inner_).push_back(node);
        for (const auto node : leaves_)
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (n_[cell] > 1) leaf_cells_.push_back({static_cast<std::int32_t>(cell), node});
        if (shares_) {
            leaf_histogram_.assign(group_passed_.size() * kShared, 0);
            for (const auto node : leaves_) add_to_histogram(node, leaf_histogram_, long_leaves_);
        }
    }

    void sweep() {
        for (std::size_t i = 0; i < leaf_cells_.size(); ++i) {
            poll_every<4096>(i);
            sample_passed(leaf_cells_[i].cell, leaf_cells_[i].node);
        }
        for (std::size_t i = inner_.size(); i-- > 0;) {
            poll_every<1024>(i);
            const auto node = inner_[i];
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (n_[cell] > 1) sample_passed(static_cast<std::int32_t>(cell), node);
        }
        sample_concentrations();
    }

    // Conditional mean of phi given the pseudo-counts, added to sum.
    void add_mean(std::span<double> sum) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<4096>(node);
            const double c = concentration(node);
            const double scale = 1.0 / (total_[node] + c);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                phi_[cell] = (n_[cell] + c * above(node, cell)) * scale;
                sum[cell] += phi_[cell];
            }
        }
    }

    // One draw of phi given the pseudo-counts. Outcomes that a sparse row does not list share one
    // Dirichlet component.
    void draw(std::span<double> phi) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<1024>(node);
            const double c = concentration(node);
            const auto first = tree_.row_start[node];
            const auto last = tree_.row_start[node + 1];
            double listed = 0.0;
            double largest = -1e300;
            for (auto cell = first; cell < last; ++cell) {
                const double base =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi[tree_.parent_cell[cell]];
                listed += base;
                phi[cell] = rng_.log_gamma(std::max(n_[cell] + c * base, 1e-300));
                largest = std::max(largest, phi[cell]);
            }
            double sum = 0.0;
            if (last - first < tree_.n_outcomes && listed < 1.0) {
                const double rest = rng_.log_gamma(c * (1.0 - listed));
                largest = std::max(largest, rest);
                sum = std::exp(rest - largest);
            }
            for (auto cell = first; cell < last; ++cell)
                sum += phi[cell] = std::exp(phi[cell] - largest);
            for (auto cell = first; cell < last; ++cell) phi[cell] /= sum;
        }
    }

    void write_state() const { std::ranges::copy(t_, state_.passed.begin()); }

  private:
    double concentration(std::int32_t node) const {
        return node == 0 ? model_.root_concentration : state_.concentration[model_.group[node]];
    }

    double above(std::int32_t node, std::int64_t cell) const {
        return node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
    }

    // Whole pseudo-counts nearest to the given ones that fit the rows.
    void seat_rows() {
        const auto ending = count_ending_rows(tree_);
        for (std::size_t cell = 0; cell < n_.size(); ++cell) n_[cell] = std::llround(ending[cell]);
        for (std::int32_t node = tree_.n_nodes() - 1; node >= 0; --node) {
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                total_[node] += n_[cell];
                if (node == 0 || n_[cell] == 0) continue;
                const auto most = static_cast<double>(n_[cell]);
                // NaN becomes one.
                t_[cell] = std::llround(std::min(std::max(1.0, state_.passed[cell]), most));
                n_[tree_.parent_cell[cell]] += t_[cell];
                group_passed_[model_.group[node]] += static_cast<double>(t_[cell]);
            }
        }
    }

    void sample_passed(std::int32_t cell, std::int32_t node) {
        const auto above_cell = tree_.parent_cell[cell];
        const auto above_node = tree_.parent[node];
        const double c = concentration(node);
        const std::int64_t now = t_[cell];
        // The parent's counts without this cell.
        const std::int64_t others = n_[above_cell] - now;
        const double total = static_cast<double>(total_[above_node] - now);
        std::int64_t passed;
        if (above_node == 0) {
            const double c0 = model_.root_concentration;
            const double pseudo = static_cast<double>(others) + c0 / tree_.n_outcomes;
            passed = choose(n_[cell], now, 1, [=](std::int64_t, std::int64_t) {
                return [=](std::int64_t t) {
                    const auto x = static_cast<double>(t);
                    return Fraction{c * (pseudo + x), total + x + c0};
                };
            });
        } else {
            const std::int64_t t_above = t_[above_cell];
            const std::int64_t least = std::max<std::int64_t>(1, t_above - others);
            const double denominator = total + concentration(above_node);
            if (others + now + kWindow <= StirlingRatios::kTableRows) {
                passed = choose(n_[cell], now, least, [&](std::int64_t, std::int64_t) {
                    return [&](std::int64_t t) {
                        const std::int64_t n = others + t;
                        return Fraction{c * (static_cast<double>(n) + ratios_.row(n)[t_above]),
                                        denominator + static_cast<double>(t)};
                    };
                });
            } else {
                // V is costly here, but 1 / V is close to a line over the window: the line through
                // the window's ends, the same whichever of its members is the present value.
                const double numerator = t_above > 1 ? 1.0 : 0.0;  // V(n, 1) = 0
                passed = choose(n_[cell], now, least, [&](std::int64_t low, std::int64_t high) {
                    const auto inverse = [&](std::int64_t t) {
                        return t_above > 1 ? 1.0 / ratios_(others + t, t_above) : 1.0;
                    };
                    const double first = inverse(low);
                    const double slope =
                        low == high ? 0.0
                                    : (inverse(high) - first) / static_cast<double>(high - low);
                    return [=](std::int64_t t) {
                        const double line = first + slope * static_cast<double>(t - low);
                        return Fraction{c * (static_cast<double>(others + t) * line + numerator),
                                        (denominator + static_cast<double>(t)) * line};
                    };
                });
            }
        }
        const auto change = passed - now;
        t_[cell] += change;
        n_[above_cell] += change;
        total_[above_node] += change;
        group_passed_[model_.group[node]] += static_cast<double>(change);
    }

    // Draw t in a window over its present value; with growth = growth_over(first, last of the
    // window), growth(t) * S(n, t + 1) / S(n, t) is p(t + 1) / p(t).
    template <class GrowthOver>
    std::int64_t choose(std::int64_t n, std::int64_t now, std::int64_t least,
                        GrowthOver growth_over) {
        std::uint64_t bits = rng_.bits();
        std::int64_t low = 1;
        std::int64_t high = n;
        if (n > kWindow) {
            // 4095 is a multiple of 21, so all places of the window are equally probable.
            while ((bits & 0xFFF) == 0xFFF) bits = rng_.bits();
            low = now - static_cast<std::int64_t>((bits & 0xFFF) % kWindow);
            high = std::min(n, low + kWindow - 1);
        }
        low = std::max(low, least);
        const auto growth = growth_over(low, high);
        if (n <= StirlingRatios::kTableRows) {
            const double* row = ratios_.row(n);
            return choose_between(low, high, now, bits, growth,
                                  [row](std::int64_t t) { return row[t]; });
        }
        return choose_between(low, high, now, bits, growth,
                              [this, n](std::int64_t t) { return ratios_(n, t); });
    }

    template <class Growth, class Ratio>
    static std::int64_t choose_between(std::int64_t low, std::int64_t high, std::int64_t now,
                                       std::uint64_t bits, Growth growth, Ratio ratio) {
        std::array<double, kWindow> weight;
        weight[now - low] = 1.0;
        double sum = 1.0;
        double w = 1.0;
        for (std::int64_t t = now; t < high; ++t) {
            const Fraction g = growth(t);
            w *= g.numerator / (g.denominator * ratio(t + 1));
            weight[t + 1 - low] = w;
            sum += w;
            if (w < kNegligible * sum) high = t + 1;
        }
        w = 1.0;
        std::int64_t first = low;
        for (std::int64_t t = now; t > first; --t) {
            const Fraction g = growth(t - 1);
            w *= ratio(t) * g.denominator / g.numerator;
            weight[t - 1 - low] = w;
            sum += w;
            if (w < kNegligible * sum) first = t - 1;
        }
        double left = (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52 * sum;
        std::int64_t t = first;
        while (t < high && left >= weight[t - low]) left -= weight[t++ - low];
        return t;
    }

    void sample_concentrations() {
        std::ranges::fill(group_minus_log_q_, 0.0);
        if (shares_) {
            histogram_ = leaf_histogram_;
            long_inner_.clear();
            for (const auto node : inner_) add_to_histogram(node, histogram_, long_inner_);
            for (std::size_t g = 0; g < group_passed_.size(); ++g) add_shared_terms(g);
            for (const auto& nodes : {std::cref(long_leaves_), std::cref(long_inner_)})
                for (const auto node : nodes.get()) add_minus_log_q(node, kShared);
        } else {
            for (const auto* nodes : {&leaves_, &inner_})
                for (const auto node : *nodes)
                    if (total_[node] > 0) add_minus_log_q(node, 0);
        }
        for (std::size_t g = 0; g < group_passed_.size(); ++g) {
            const double shape = model_.shape + group_passed_[g];
            const double rate = model_.rate + group_minus_log_q_[g];
            state_.concentration[g] =
                std::clamp(rng_.gamma(shape) / rate, kLeastSampled, kMostConcentration);
        }
    }

    // -log of Beta(c + skipped, N - skipped): the terms i >= skipped of the sum.
    void add_minus_log_q(std::int32_t node, std::int32_t skipped) {
        const auto g = model_.group[node];
        const double a = state_.concentration[g] + skipped;
        const auto b = total_[node] - skipped;
        group_minus_log_q_[g] +=
            b == 1 ? -std::log(rng_.uniform()) / a : rng_.minus_log_beta(a, static_cast<double>(b));
    }

    void add_to_histogram(std::int32_t node, std::vector<std::int32_t>& histogram,
                          std::vector<std::int32_t>& long_nodes) const {
        const auto total = total_[node];
        if (total == 0) return;
        ++histogram[model_.group[node] * kShared + std::min<std::int64_t>(total, kShared) - 1];
        if (total > kShared) long_nodes.push_back(node);
    }

    void add_shared_terms(std::size_t g) {
        std::int32_t n_longer = 0;  // nodes of the group with N > i
        for (std::int32_t i = kShared - 1; i >= 0; --i) {
            n_longer += histogram_[g * kShared + static_cast<std::size_t>(i)];
            if (n_longer > 0)
                group_minus_log_q_[g] += rng_.gamma(n_longer) / (state_.concentration[g] + i);
        }
    }

    const ProcessModel& model_;
    const TreeView& tree_;
    ProcessState& state_;
    Rng rng_;
    StirlingRatios ratios_;
    std::vector<char> leaf_;
    std::vector<std::int64_t> n_;       // per cell: rows, or what the children passed
    std::vector<std::int64_t> t_;       // per cell: passed to the parent
    std::vector<std::int64_t> total_;   // per node
    std::vector<double> group_passed_;  // whole numbers, which many levels may take beyond 2^63
    std::vector<double> group_minus_log_q_;
    std::vector<double> phi_;
    std::vector<std::int32_t> leaves_, inner_;
    std::vector<LeafCell> leaf_cells_;
    bool shares_;
    std::vector<std::int32_t> leaf_histogram_, histogram_;
    std::vector<std::int32_t> long_leaves_, long_inner_;
};

}  // namespace

GibbsResult sample_hdp(const ProcessModel& model, const GibbsPlan& plan, ProcessState& state) {
    GibbsSampler sampler(model, state, plan.seed);
    return run_sampler(sampler, plan, model.tree.counts.size(), state);
}

}  // namespace priorwise
