// Deterministic inference for the hierarchical Dirichlet model.
//
// Iterate to convergence, with alpha = n + c phi_parent the Dirichlet parameters of a node's
// posterior:
//
//     up    a = c exp(digamma(alpha_k) - digamma(sum alpha)) of the parent
//           t = n if n <= 1 else a (digamma(a + n) - digamma(a))
//     c     one Newton step in log c on sum_j [T_j log c - log Gamma(c + N_j) + log Gamma(c)]
//           + log prior(c), for each tied group
//     down  phi = (n + c phi_parent) / (N + c), at the root (n + c0 / K) / (N + c0)
#include <algorithm>
#include <cmath>

#include "hdp.hpp"
#include "special.hpp"

namespace priorwise {

std::vector<char> find_leaves(const TreeView& tree) {
    std::vector<char> leaf(tree.parent.size(), 1);
    for (std::size_t node = 1; node < tree.parent.size(); ++node) leaf[tree.parent[node]] = 0;
    return leaf;
}

namespace {

class FixedPoint {
  public:
    FixedPoint(const HdpModel& model, HdpState& state)
        : model_(model),
          tree_(model.tree),
          state_(state),
          leaf_(find_leaves(tree_)),
          n_(tree_.counts.begin(), tree_.counts.end()),
          phi_(n_.size()),
          prior_(n_.size()),
          total_(leaf_.size()),
          passed_(static_cast<std::size_t>(model.n_groups)),
          rise_(passed_.size()),
          rise1_(passed_.size()) {
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
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node)
            if (!leaf_[node])
                std::fill(n_.begin() + tree_.row_start[node], n_.begin() + tree_.row_start[node + 1],
                          0.0);
        for (auto* sums : {&passed_, &rise_, &rise1_}) std::ranges::fill(*sums, 0.0);
        for (std::int32_t node = tree_.n_nodes() - 1; node > 0; --node) pass_up(node);
        add_up_row(0);
    }

    void pass_up(std::int32_t node) {
        const auto group = model_.group[node];
        const double c = state_.concentration[group];
        double total = 0.0;
        double total_passed = 0.0;
        for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
            const double n = n_[cell];
            if (n <= 0.0) continue;
            double t = n;
            if (n > 1.0) {
                const double a = c * prior_[tree_.parent_cell[cell]];
                t = std::min(n, a * digamma_rise(a, n));
            }
            state_.passed[cell] = t;
            n_[tree_.parent_cell[cell]] += t;
            total += n;
            total_passed += t;
        }
        total_[node] = total;
        if (total <= 0.0) return;
        passed_[group] += total_passed;
        if (total == 1.0) {
            rise_[group] += 1.0 / c;
            rise1_[group] -= 1.0 / (c * c);
        } else {
            rise_[group] += digamma_rise(c, total);
            rise1_[group] += trigamma(c + total) - trigamma(c);
        }
    }

    // Returns the largest move of any log c.
    double update_concentrations() {
        double largest = 0.0;
        for (std::size_t g = 0; g < passed_.size(); ++g) {
            if (passed_[g] <= 0.0) continue;
            double& c = state_.concentration[g];
            const double wanted = passed_[g] + model_.shape - 1.0;
            const double pull = c * (model_.rate + rise_[g]);
            const double gradient = wanted - pull;
            const double curvature = -pull - c * c * rise1_[g];
            // Where the target is not concave in log c, the fixed-point update still climbs.
            double move = curvature < 0.0 ? -gradient / curvature
                                          : std::log(std::max(wanted, 1e-12) / pull);
            move = std::clamp(move, -1.0, 1.0);
            c = std::clamp(c * std::exp(move), 1e-6, 1e12);
            largest = std::max(largest, std::abs(move));
        }
        return largest;
    }

    // Estimates of all nodes, or of those with children only; prior_ becomes the geometric mean of
    // phi under the node's posterior, which is what its children see.
    void move_down(bool leaves_too) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            if (leaf_[node] && !leaves_too) continue;
            const double c = concentration(node);
            const double sum = total_[node] + c;
            const double digamma_sum = leaf_[node] ? 0.0 : digamma(sum);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                const double above =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
                const double alpha = n_[cell] + c * above;
                phi_[cell] = alpha / sum;
                if (!leaf_[node] && n_[cell] > 0.0)
                    prior_[cell] = std::exp(digamma(alpha) - digamma_sum);
            }
        }
    }

    const HdpModel& model_;
    const TreeView& tree_;
    HdpState& state_;
    std::vector<char> leaf_;
    std::vector<double> n_;
    std::vector<double> phi_;
    std::vector<double> prior_;
    std::vector<double> total_;
    // Per tied group: sum of T_j, of digamma(c + N_j) - digamma(c), and of its derivative.
    std::vector<double> passed_, rise_, rise1_;
};

}  // namespace

int solve_hdp(const HdpModel& model, int max_passes, double tolerance, HdpState& state,
              std::span<double> p) {
    FixedPoint solver(model, state);
    const int n_passes = solver.solve(max_passes, tolerance);
    solver.write_estimate(p);
    return n_passes;
}

}  // namespace priorwise
