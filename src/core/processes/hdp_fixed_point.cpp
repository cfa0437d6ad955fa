// Deterministic inference for the hierarchical Dirichlet model.
//
// Iterate to convergence, with alpha = n + c phi_parent the Dirichlet parameters of a node's
// posterior:
//
//     up    a = c exp(digamma(alpha_k) - digamma(sum alpha)) of the parent
//           t = n if n <= 1 else a (digamma(a + n) - digamma(a))
//     c     for each tied group one Newton step in log c towards
//           shape + sum_j T_j = c (rate + sum_j [digamma(c + N_j) - digamma(c)]),
//           the mean of its conditional Gamma(shape + sum T_j, rate + sum -log q_j) (which is the
//           mode in log c, and far closer to the posterior mean than the mode in c). The step knows
//           that T moves with c: that is what makes the iteration quick
//     down  phi = (n + c phi_parent) / (N + c), at the root (n + c0 / K) / (N + c0)
#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"
#include "common/special.hpp"
#include "processes/hdp.hpp"

namespace priorwise {

namespace {

constexpr std::int32_t kKnown = 32;
constexpr double kLeastFixedConcentration = 1e-6;

// Sums over a tied group from which its c is computed.
struct Group {
    double passed = 0.0;    // sum of T_j
    double expected = 0.0;  // what T_j would be on average: c (digamma(c + N_j) - digamma(c))
    double slope = 0.0;     // derivative of passed - expected by log c
};

class FixedPoint {
  public:
    FixedPoint(const HdpModel& model, HdpState& state)
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
        move_down(true);
    }

    int solve(int max_passes, double tolerance) {
        int pass = 0;
        for (double change = 1.0; pass < max_passes && change > tolerance; ++pass) {
            move_up();
            change = update_concentrations();
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

    void add_up_row(std::int32_t node) {
        double total = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
            total += n_[cell];
        total_[node] = total;
    }

    // Children follow parents, so going backwards every node is complete before it passes rows on.
    void move_up() {
        std::ranges::copy(ending_, n_.begin());
        std::ranges::fill(groups_, Group{});
        know_small_totals();
        for (std::int32_t node = tree_.n_nodes() - 1; node > 0; --node) {
            poll_every<1024>(node);
            pass_up(node);
        }
        add_up_row(0);
    }

    void pass_up(std::int32_t node) {
        auto& group = groups_[model_.group[node]];
        const double c = concentration(node);
        double total = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
            const double n = n_[cell];
            if (n <= 0.0) continue;
            double t = n;
            if (n > 1.0) {
                const auto moments = table_moments(c * prior_[tree_.parent_cell[cell]], n);
                t = std::min(n, moments.mean);
                group.slope += moments.variance;
            }
            state_.passed[cell] = t;
            n_[tree_.parent_cell[cell]] += t;
            group.passed += t;
            total += n;
        }
        total_[node] = total;
        if (total <= 0.0) return;
        const auto moments = node_moments(model_.group[node], c, total);
        group.expected += moments.mean;
        group.slope -= moments.variance;
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

    // Returns the largest move of any log c.
    double update_concentrations() {
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
        }
        return largest;
    }

    // Estimates of all nodes, or of those with children only; prior_ becomes the geometric mean of
    // phi under the node's posterior, which is what its children see.
    void move_down(bool leaves_too) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<1024>(node);
            if (leaf_[node] && !leaves_too) continue;
            const double c = concentration(node);
            const double sum = total_[node] + c;
            const double scale = leaf_[node] ? 0.0 : 1.0 / exp_digamma(sum);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                const double above =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
                const double alpha = n_[cell] + c * above;
                phi_[cell] = alpha / sum;
                if (!leaf_[node] && n_[cell] > 0.0) prior_[cell] = scale * exp_digamma(alpha);
            }
        }
    }

    const HdpModel& model_;
    const TreeView& tree_;
    HdpState& state_;
    std::vector<char> leaf_;
    std::vector<double> ending_;  // per cell: rows that end there
    std::vector<double> n_;
    std::vector<double> phi_;
    std::vector<double> prior_;
    std::vector<double> total_;
    std::vector<Group> groups_;
    std::vector<TableMoments> known_;  // per group, for N = 0..kKnown; empty where groups are small
};

}  // namespace

int solve_hdp(const HdpModel& model, int max_passes, double tolerance, HdpState& state,
              std::span<double> p) {
    check_model(model, state.concentration);
    FixedPoint solver(model, state);
    const int n_passes = solver.solve(max_passes, tolerance);
    solver.write_estimate(p);
    return n_passes;
}

}  // namespace priorwise
