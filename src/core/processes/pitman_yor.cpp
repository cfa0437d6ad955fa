// Deterministic inference for the hierarchical Pitman-Yor model.
//
// The equations of hdp_fixed_point.cpp, with lambda = c + a T of a node in the place of c where its
// tables are seated:
//
//     up    x = lambda exp(digamma(alpha_k) - digamma(sum alpha)) of the parent
//           t = mean of the distribution S_a(n, t) x^t / Z
//     c     a Newton step in log c towards
//           shape + sum_j c sum_{i < T_j} 1 / (c + a i) = c (rate + sum_j [digamma(c + N_j) -
//           digamma(c)])
//     a     a step in the direction of the derivative of
//           sum_j [log (c | a)_T_j + sum_k log Z_jk], with steps that halve when it turns
//     down  phi = (n - a t + (c + a T) phi_parent) / (N + c)
//
// With a = 0 all of them are those of the hierarchical Dirichlet model.
#include "processes/pitman_yor.hpp"

#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"
#include "common/require.hpp"
#include "common/special.hpp"

namespace priorwise {
namespace {

constexpr double kLeastConcentration = 1e-6;
constexpr double kDifference = 1e-4;  // of discounts, for derivatives
constexpr double kFirstStep = 0.1;

struct Group {
    double passed = 0.0;    // sum of c sum_{i < T} 1 / (c + a i)
    double expected = 0.0;  // sum of c (digamma(c + N) - digamma(c))
    double slope = 0.0;     // derivative of passed - expected by log c
    double uphill = 0.0;    // derivative by a
};

struct DiscountStep {
    double size = kFirstStep;
    double last = 0.0;  // sign of the last derivative
};

class FixedPoint {
  public:
    FixedPoint(const HdpModel& model, bool learns, PitmanYorState& state)
        : model_(model),
          learns_(learns),
          tree_(model.tree),
          state_(state),
          leaf_(find_leaves(tree_)),
          ending_(count_ending_rows(tree_)),
          n_(tree_.counts.begin(), tree_.counts.end()),
          phi_(n_.size()),
          prior_(n_.size()),
          total_(leaf_.size()),
          tables_(leaf_.size()),
          groups_(static_cast<std::size_t>(model.n_groups)),
          steps_(groups_.size()) {
        for (auto& c : state_.concentration)
            c = std::clamp(c, kLeastConcentration, kMostConcentration);
        // Every outcome that occurs at a node starts with one table there.
        state_.passed.assign(n_.size(), 0.0);
        for (std::int32_t node = tree_.n_nodes() - 1; node >= 0; --node) {
            total_[node] = 0.0;
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                total_[node] += n_[cell];
                if (node > 0) state_.passed[cell] = std::min(n_[cell], 1.0);
                tables_[node] += state_.passed[cell];
            }
        }
        move_down(true);
    }

    int solve(int max_passes, double tolerance) {
        int pass = 0;
        for (double change = 1.0; pass < max_passes && change > tolerance; ++pass) {
            move_up();
            change = update_groups();
            move_down(false);
        }
        return pass;
    }

    void write_estimate(std::span<double> p) {
        move_down(true);
        std::ranges::copy(phi_, p.begin());
    }

  private:
    double concentration(std::int32_t node) const {
        return node == 0 ? model_.root_concentration : state_.concentration[model_.group[node]];
    }
    double discount(std::int32_t node) const {
        return node == 0 ? 0.0 : state_.discount[model_.group[node]];
    }

    void move_up() {
        std::ranges::copy(ending_, n_.begin());
        std::ranges::fill(groups_, Group{});
        for (std::int32_t node = tree_.n_nodes() - 1; node > 0; --node) {
            poll_every<256>(node);
            pass_up(node);
        }
        total_[0] = 0.0;
        for (auto cell = tree_.row_start[0]; cell < tree_.row_start[1]; ++cell)
            total_[0] += n_[cell];
    }

    void pass_up(std::int32_t node) {
        auto& group = groups_[model_.group[node]];
        const double c = concentration(node);
        const double a = discount(node);
        const double lambda = c + a * tables_[node];
        double total = 0.0;
        double tables = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
            const double n = n_[cell];
            if (n <= 0.0) continue;
            double t = n;
            if (n > 1.0) {
                const double x = lambda * prior_[tree_.parent_cell[cell]];
                double variance;
                if (a == 0.0) {
                    const auto moments = table_moments(x, n);
                    t = moments.mean;
                    variance = moments.variance;
                } else {
                    const auto seating = seat_rows(x, n, a);
                    t = seating.mean;
                    variance = seating.variance;
                }
                t = std::min(n, t);
                group.slope += variance * c / lambda;
                if (learns_)
                    group.uphill +=
                        (seat_rows(x, n, a + kDifference).log_z - seat_rows(x, n, a).log_z) /
                        kDifference;
            }
            state_.passed[cell] = t;
            n_[tree_.parent_cell[cell]] += t;
            tables += t;
            total += n;
        }
        total_[node] = total;
        tables_[node] = tables;
        if (total <= 0.0) return;
        const double opened = a < 1e-9 ? tables : c / a * digamma_rise(c / a, tables);
        group.passed += opened;
        if (learns_)
            group.uphill +=
                a < 1e-6 ? 0.5 * tables * std::max(tables - 1.0, 0.0) / c : (tables - opened) / a;
        const auto moments = table_moments(c, total);
        group.expected += moments.mean;
        group.slope -= moments.variance;
    }

    // Returns the largest move of any log c or a.
    double update_groups() {
        double largest = 0.0;
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const auto& group = groups_[g];
            if (group.passed <= 0.0) continue;
            double& c = state_.concentration[g];
            const double wanted = group.passed + model_.shape;
            const double given = group.expected + model_.rate * c;
            const double slope = group.slope - model_.rate * c;
            const double step =
                slope < 0.0 ? (given - wanted) / slope : std::log(std::max(wanted, 1e-12) / given);
            const double before = c;
            c = std::clamp(c * std::exp(std::clamp(step, -1.0, 1.0)), kLeastConcentration,
                           kMostConcentration);
            if (c != before)
                largest =
                    std::max(largest, std::abs(std::log(c / before)) * (slope < 0.0 ? 1 : 10));
            if (learns_) largest = std::max(largest, move_discount(g));
        }
        return largest;
    }

    double move_discount(std::size_t g) {
        auto& step = steps_[g];
        // The prior is Beta(1, 3): counts that know little of a have a small one.
        const double uphill = groups_[g].uphill - 2.0 / (1.0 - state_.discount[g]);
        const double sign = uphill > 0.0 ? 1.0 : -1.0;
        if (step.last != 0.0) step.size *= sign == step.last ? 1.2 : 0.5;
        step.size = std::min(step.size, kFirstStep);
        step.last = sign;
        double& a = state_.discount[g];
        const double before = a;
        a = std::clamp(a + sign * step.size, 0.0, kMostDiscount);
        return std::abs(a - before);
    }

    void move_down(bool leaves_too) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<1024>(node);
            if (leaf_[node] && !leaves_too) continue;
            const double c = concentration(node);
            const double a = discount(node);
            const double sum = total_[node] + c;
            const double shared = c + a * tables_[node];
            const double scale = leaf_[node] ? 0.0 : 1.0 / exp_digamma(sum);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                const double above =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
                const double alpha = n_[cell] - a * state_.passed[cell] + shared * above;
                phi_[cell] = alpha / sum;
                if (!leaf_[node] && n_[cell] > 0.0) prior_[cell] = scale * exp_digamma(alpha);
            }
        }
    }

    const HdpModel& model_;
    bool learns_;
    const TreeView& tree_;
    PitmanYorState& state_;
    std::vector<char> leaf_;
    std::vector<double> ending_;
    std::vector<double> n_;
    std::vector<double> phi_;
    std::vector<double> prior_;
    std::vector<double> total_;
    std::vector<double> tables_;  // T, per node
    std::vector<Group> groups_;
    std::vector<DiscountStep> steps_;
};

// One more row, or a part of one, with i rows seated. Z(i + 1) = Z(i) (x + i - a mean(i)), and mean
// and variance follow by derivatives; the third cumulant is that of 1 + a binomial number.
struct SeatingStep {
    double x;
    double a;
    Seating seating;

    void add(double i, double rows) {
        auto& [mean, variance, log_z] = seating;
        const double weight = x + i - a * mean;
        const double others = mean - 1.0;
        const double third = others > 1e-12 ? variance * (2.0 * variance / others - 1.0) : 0.0;
        const double opening = (x - a * variance) / weight;
        const double bend = (x - a * third) / weight - opening * opening;
        log_z += rows * std::log(weight);
        mean += rows * opening;
        variance = std::max(0.0, variance + rows * bend);
    }
};

}  // namespace

Seating seat_rows(double x, double n, double a) {
    constexpr double n_single = 256.0;
    constexpr double growth = 0.05;
    if (n <= 1.0) return {n, 0.0, n * std::log(x)};
    SeatingStep step{x, a, {1.0, 0.0, std::log(x)}};
    double i = 1.0;
    for (; i + 1.0 <= std::min(n, n_single); i += 1.0) step.add(i, 1.0);
    while (i < n) {
        const double rows = i < n_single ? n - i : std::min(n - i, growth * i);
        if (rows <= 1.0) {
            step.add(i, rows);
        } else {
            // Many rows at once, with the weights half way; a sum over i, i + 1, ..., i + rows - 1
            // is an integral from i - 1/2 on.
            SeatingStep half = step;
            half.add(i + 0.25 * (rows - 1.0), 0.5 * rows);
            const double middle = i + 0.5 * (rows - 1.0);
            const double weight = x + middle - a * half.seating.mean;
            const double opening = (x - a * half.seating.variance) / weight;
            const double others = half.seating.mean - 1.0;
            const double v = half.seating.variance;
            const double third = others > 1e-12 ? v * (2.0 * v / others - 1.0) : 0.0;
            step.seating.log_z += rows * std::log(weight);
            step.seating.mean += rows * opening;
            step.seating.variance = std::max(
                0.0, step.seating.variance + rows * ((x - a * third) / weight - opening * opening));
        }
        i += rows;
    }
    return step.seating;
}

void check_discounts(std::span<const double> discount) {
    for (const double a : discount)
        require(a >= 0.0 && a <= kMostDiscount, "discount must be a number from 0 to ",
                kMostDiscount, ", got ", a);
}

int solve_pitman_yor(const HdpModel& model, bool learn_discounts, int max_passes, double tolerance,
                     PitmanYorState& state, std::span<double> p) {
    check_model(model, state.concentration);
    check_discounts(state.discount);
    FixedPoint solver(model, learn_discounts, state);
    const int n_passes = solver.solve(max_passes, tolerance);
    solver.write_estimate(p);
    return n_passes;
}

}  // namespace priorwise
