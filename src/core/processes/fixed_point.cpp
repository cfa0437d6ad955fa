// Deterministic inference for hierarchical Pitman-Yor and Dirichlet models.
//
// Iterate to convergence, with alpha = n - a t + (c + a T) phi_parent the Dirichlet parameters of a
// node's posterior:
//
//     up    x = (c + a T) exp(digamma(alpha_k) - digamma(sum alpha)) of the parent
//           t = n if n <= 1, else the mean of the distribution S_a(n, t) x^t / Z
//     c     for each tied group one Newton step in log c towards
//           shape + sum_j c sum_{i < T_j} 1 / (c + a i)
//               = c (rate + sum_j [digamma(c + N_j) - digamma(c)]),
//           the mean of its conditional (which is the mode in log c, and far closer to the
//           posterior mean than the mode in c). The step knows that t moves with c: that is what
//           makes the iteration quick
//     a     a step in the direction of the derivative of
//           sum_j [log (c | a)_T_j + sum_k log Z_jk] + 2 log(1 - a), with steps that halve when it
//           turns
//     down  phi = alpha / (N + c), at the root (n + c0 / K) / (N + c0)
//
// Without discounts the mean is x (digamma(x + n) - digamma(x)), and the sum over i < T_j is T_j.
#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"
#include "common/special.hpp"
#include "processes/process.hpp"

namespace priorwise {
namespace {

// Mean and variance of the number of tables t that n rows of a Pitman-Yor process take, whose
// distribution is S_a(n, t) x^t / Z, and log Z, for real n and a discount a > 0. Approximate: rows
// sit down one by one, and the third cumulant is taken to be that of 1 + a binomial number.
struct Seating {
    double mean;
    double variance;
    double log_z;
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

constexpr std::int32_t kKnown = 32;
constexpr double kLeastFixedConcentration = 1e-6;
constexpr double kDifference = 1e-4;  // of discounts, for derivatives
constexpr double kFirstStep = 0.1;

// Sums over a tied group from which its c and a are computed.
struct Group {
    double passed = 0.0;    // sum of c sum_{i < T_j} 1 / (c + a i)
    double expected = 0.0;  // what it would be on average: c (digamma(c + N_j) - digamma(c))
    double slope = 0.0;     // derivative of passed - expected by log c
    double uphill = 0.0;    // derivative of the log probability by a
};

struct DiscountStep {
    double size = kFirstStep;
    double last = 0.0;  // sign of the last derivative
};

// kDiscounted is false where all discounts are zero and stay so.
template <bool kDiscounted>
class FixedPoint {
  public:
    FixedPoint(const ProcessModel& model, ProcessState& state)
        : model_(model),
          tree_(model.tree),
          state_(state),
          leaf_(find_leaves(tree_)),
          ending_(count_ending_rows(tree_)),
          n_(tree_.counts.begin(), tree_.counts.end()),
          phi_(n_.size()),
          prior_(n_.size()),
          total_(leaf_.size()),
          groups_(static_cast<std::size_t>(model.n_groups)) {
        if (groups_.size() * kKnown <= leaf_.size()) known_.resize(groups_.size() * (kKnown + 1));
        for (auto& c : state_.concentration)
            c = std::clamp(c, kLeastFixedConcentration, kMostConcentration);
        state_.passed.assign(n_.size(), 0.0);
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) add_up_row(node);
        if constexpr (kDiscounted) {
            steps_.resize(groups_.size());
            seat_one_table_each();
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

    // c + a T, the share of a node's rows that its parent's estimate has, in rows.
    double shared(std::int32_t node, double c) const {
        if constexpr (kDiscounted) return c + discount(node) * tables_[node];
        return c;
    }

    void add_up_row(std::int32_t node) {
        double total = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
            total += n_[cell];
        total_[node] = total;
    }

    void seat_one_table_each() {
        tables_.assign(leaf_.size(), 0.0);
        for (std::int32_t node = 1; node < tree_.n_nodes(); ++node)
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                tables_[node] += state_.passed[cell] = std::min(n_[cell], 1.0);
    }

    // Children follow parents, so going backwards every node is complete before it passes rows on.
    void move_up() {
        std::ranges::copy(ending_, n_.begin());
        std::ranges::fill(groups_, Group{});
        know_small_totals();
        for (std::int32_t node = tree_.n_nodes() - 1; node > 0; --node) {
            poll_every<kDiscounted ? 256 : 1024>(node);
            pass_up(node);
        }
        add_up_row(0);
    }

    void pass_up(std::int32_t node) {
        auto& group = groups_[model_.group[node]];
        const double c = concentration(node);
        const double share = shared(node, c);
        double total = 0.0;
        double tables = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
            const double n = n_[cell];
            if (n <= 0.0) continue;
            double t = n;
            if (n > 1.0) {
                const auto moments = seat(node, share * prior_[tree_.parent_cell[cell]], n, group);
                t = std::min(n, moments.mean);
                group.slope += kDiscounted ? moments.variance * c / share : moments.variance;
            }
            state_.passed[cell] = t;
            n_[tree_.parent_cell[cell]] += t;
            if constexpr (kDiscounted) {
                tables += t;
            } else {
                group.passed += t;
            }
            total += n;
        }
        total_[node] = total;
        if constexpr (kDiscounted) tables_[node] = tables;
        if (total <= 0.0) return;
        if constexpr (kDiscounted) add_tables(node, c, group);
        const auto moments = node_moments(model_.group[node], c, total);
        group.expected += moments.mean;
        group.slope -= moments.variance;
    }

    // Tables of the n > 1 rows of a cell.
    TableMoments seat(std::int32_t node, double x, double n, Group& group) const {
        if constexpr (kDiscounted) {
            const double a = discount(node);
            const auto seating = seat_rows(x, n, a);
            if (model_.learns_discounts)
                group.uphill +=
                    (seat_rows(x, n, a + kDifference).log_z - seating.log_z) / kDifference;
            if (a > 0.0) return {seating.mean, seating.variance};
        }
        return table_moments(x, n);
    }

    // The part of (c | a)_T in the sums of a group.
    void add_tables(std::int32_t node, double c, Group& group) const {
        const double a = discount(node);
        const double tables = tables_[node];
        const double opened = a < 1e-9 ? tables : c / a * digamma_rise(c / a, tables);
        group.passed += opened;
        group.uphill +=
            a < 1e-6 ? 0.5 * tables * std::max(tables - 1.0, 0.0) / c : (tables - opened) / a;
    }

    TableMoments node_moments(std::int32_t group, double c, double total) const {
        if (total <= kKnown && !known_.empty() && total == std::floor(total))
            return known_[group * (kKnown + 1) + static_cast<std::int32_t>(total)];
        return table_moments(c, total);
    }

    // Many nodes of a group have the same few rows: find their moments once for all of them.
    void know_small_totals() {
        for (std::size_t g = 0; g < groups_.size() && !known_.empty(); ++g) {
            const double c = state_.concentration[g];
            TableMoments moments{0.0, 0.0};
            for (std::int32_t n = 1; n <= kKnown; ++n) {
                const double p = c / (c + n - 1);
                moments.mean += p;
                moments.variance += p - p * p;
                known_[g * (kKnown + 1) + static_cast<std::size_t>(n)] = moments;
            }
        }
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
            // Where the target is not concave in log c, the ratio still has the right sign, but its
            // steps are smaller than the distance to the maximum.
            const double step =
                slope < 0.0 ? (given - wanted) / slope : std::log(std::max(wanted, 1e-12) / given);
            const double before = c;
            c = std::clamp(c * std::exp(std::clamp(step, -1.0, 1.0)), kLeastFixedConcentration,
                           kMostConcentration);
            // A c at its bound that would be moved beyond it has converged.
            if (c != before)
                largest =
                    std::max(largest, std::abs(std::log(c / before)) * (slope < 0.0 ? 1 : 10));
            if constexpr (kDiscounted)
                if (model_.learns_discounts) largest = std::max(largest, move_discount(g));
        }
        return largest;
    }

    double move_discount(std::size_t g) {
        auto& step = steps_[g];
        double& a = state_.discount[g];
        const double uphill = groups_[g].uphill - 2.0 / (1.0 - a);
        const double sign = uphill > 0.0 ? 1.0 : -1.0;
        if (step.last != 0.0) step.size *= sign == step.last ? 1.2 : 0.5;
        step.size = std::min(step.size, kFirstStep);
        step.last = sign;
        const double before = a;
        a = std::clamp(a + sign * step.size, 0.0, kMostDiscount);
        return std::abs(a - before);
    }

    // Estimates of all nodes, or of those with children only; prior_ becomes the geometric mean of
    // phi under the node's posterior, which is what its children see.
    void move_down(bool leaves_too) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<1024>(node);
            if (leaf_[node] && !leaves_too) continue;
            const double c = concentration(node);
            const double share = shared(node, c);
            const double sum = total_[node] + c;
            const double scale = leaf_[node] ? 0.0 : 1.0 / exp_digamma(sum);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                const double above =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
                double alpha = n_[cell] + share * above;
                if constexpr (kDiscounted) alpha -= discount(node) * state_.passed[cell];
                phi_[cell] = alpha / sum;
                if (!leaf_[node] && n_[cell] > 0.0) prior_[cell] = scale * exp_digamma(alpha);
            }
        }
    }

    const ProcessModel& model_;
    const TreeView& tree_;
    ProcessState& state_;
    std::vector<char> leaf_;
    std::vector<double> ending_;  // per cell: rows that end there
    std::vector<double> n_;
    std::vector<double> phi_;
    std::vector<double> prior_;
    std::vector<double> total_;   // N, per node
    std::vector<double> tables_;  // T, per node; empty without discounts
    std::vector<Group> groups_;
    std::vector<DiscountStep> steps_;
    std::vector<TableMoments> known_;  // per group, for N = 0..kKnown; empty where groups are small
};

template <bool kDiscounted>
int solve(const ProcessModel& model, int max_passes, double tolerance, ProcessState& state,
          std::span<double> p) {
    FixedPoint<kDiscounted> solver(model, state);
    const int n_passes = solver.solve(max_passes, tolerance);
    solver.write_estimate(p);
    return n_passes;
}

}  // namespace

int solve_process(const ProcessModel& model, int max_passes, double tolerance, ProcessState& state,
                  std::span<double> p) {
    check_model(model, state);
    const bool discounted = !state.discount.empty() &&
                            (model.learns_discounts || std::ranges::max(state.discount) > 0.0);
    return discounted ? solve<true>(model, max_passes, tolerance, state, p)
                      : solve<false>(model, max_passes, tolerance, state, p);
}

}  // namespace priorwise
