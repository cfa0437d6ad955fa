// The hierarchical Dirichlet model of a tree of counts.
//
//     phi_root ~ Dirichlet(c0 / K, ..., c0 / K)
//     phi_u    ~ Dirichlet(c phi_parent),  c = concentration[group[u]] ~ Gamma(shape, rate)
//     the rows that end at node u ~ Multinomial(phi_u)
//
// Of the n_uk rows of outcome k at node u, t_uk (1 <= t <= n where n > 0) are passed on to the
// parent, whose own count is the sum over its children and the rows that end there. With phi
// integrated out (Petitjean et al. 2018, Eq. 11):
//
//     p(data, t | c) = Dirichlet integral at the root
//                      * prod_u c^T_u Gamma(c) / Gamma(c + N_u) prod_k S(n_uk, t_uk).
//
// Given n, phi has the mean (n + c phi_parent) / (N + c), from the root down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counts/count_tree.hpp"

namespace priorwise {

struct HdpModel {
    const TreeView& tree;
    std::span<const std::int32_t> group;  // per node: which concentration it uses; -1 at the root
    std::int32_t n_groups;
    double shape;
    double rate;
    double root_concentration;
};

// Pseudo-counts and concentrations.
struct HdpState {
    std::vector<double> passed;         // t, per cell
    std::vector<double> concentration;  // c, per group
};

// What the parameters of the Gamma prior and the root's concentration may be, and bounds of the
// concentrations that are learnt. Outside them digamma and Gamma variates lose their digits.
constexpr double kLeastPrior = 1e-9;
constexpr double kMostPrior = 1e9;
constexpr double kMostConcentration = 1e12;
// Most rows that a sampler seats: beyond 2^53 counts are no longer whole numbers.
constexpr double kMostRows = 9007199254740992.0;

// Throws std::invalid_argument where a number is out of these bounds.
void check_model(const HdpModel& model, std::span<const double> concentration);

// Throws std::invalid_argument unless the rows that end at each node are whole numbers with a sum
// of at most kMostRows.
void check_whole_counts(std::span<const double> ending);

// The deterministic fixed point; returns the number of passes made. state.concentration holds the
// start; p becomes the estimate of phi.
int solve_hdp(const HdpModel& model, int max_passes, double tolerance, HdpState& state,
              std::span<double> p);

struct GibbsPlan {
    std::int64_t n_sweeps;   // in all
    std::int64_t n_burn_in;  // of them not averaged
    std::int64_t n_draws;    // draws of phi, spread evenly over the kept sweeps
    std::uint64_t seed;
};

// Gibbs sampling from the given state, which is left at the last sweep. mean_p becomes the average
// of phi's conditional mean; draws (n_draws x cells) become draws of phi itself, and
// drawn_concentrations (n_draws x groups) those of the concentrations beside them.
void sample_hdp(const HdpModel& model, const GibbsPlan& plan, HdpState& state,
                std::span<double> mean_p, std::span<double> draws,
                std::span<double> drawn_concentrations);

}  // namespace priorwise
