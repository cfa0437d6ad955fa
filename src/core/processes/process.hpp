// Hierarchical Pitman-Yor and Dirichlet models of a tree of counts.
//
//     phi_root ~ Dirichlet(c0 / K, ..., c0 / K)
//     phi_u    ~ PitmanYor(c, a, phi_parent),  c ~ Gamma(shape, rate),  a ~ Beta(1, 3)
//     the rows that end at node u ~ Multinomial(phi_u)
//
// where nodes of one group share the concentration c and the discount a, 0 <= a < 1. With a = 0,
// phi_u ~ Dirichlet(c phi_parent): the hierarchical Dirichlet model.
//
// Of the n_uk rows of outcome k at node u, t_uk (1 <= t <= n where n > 0) are passed on to the
// parent, whose own count is the sum over its children and the rows that end there. With phi
// integrated out and T_u the sum of t_uk:
//
//     p(data, t | c, a) = Dirichlet integral at the root
//                         * prod_u (c | a)_T_u / (c)_N_u prod_k S_a(n_uk, t_uk),
//
// where (c | a)_T = c (c + a) ... (c + (T - 1) a), (c)_N = (c | 1)_N, and S_a are generalised
// Stirling numbers; for a = 0 see Petitjean et al. 2018, Eq. 11. Given n and t, phi has the mean
// (n - a t + (c + a T) phi_parent) / (N + c), from the root down.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/require.hpp"
#include "counts/count_tree.hpp"

namespace priorwise {

struct ProcessModel {
    const TreeView& tree;
    std::span<const std::int32_t> group;  // of each node; -1 at the root
    std::int32_t n_groups;
    double shape;
    double rate;
    double root_concentration;
    bool learns_discounts = false;  // else they stay as they are given
};

struct ProcessState {
    std::vector<double> passed;         // t, per cell
    std::vector<double> concentration;  // c, per group
    std::vector<double> discount;       // a, per group; empty: all are zero
};

// What the parameters of the Gamma prior and the root's concentration may be, and bounds of the
// concentrations that are learnt. Outside them digamma and Gamma variates lose their digits.
constexpr double kLeastPrior = 1e-9;
constexpr double kMostPrior = 1e9;
constexpr double kMostConcentration = 1e12;
constexpr double kMostDiscount = 0.95;
// Most rows that a sampler seats: beyond 2^53 counts are no longer whole numbers.
constexpr double kMostRows = 9007199254740992.0;

// Throws std::invalid_argument where a number is out of these bounds.
inline void check_model(const ProcessModel& model, const ProcessState& state) {
    const auto check_between = [](const char* name, double value, double least, double most) {
        require(value >= least && value <= most, name, " must be a number from ", least, " to ",
                most, ", got ", value);
    };
    check_between("prior_shape", model.shape, kLeastPrior, kMostPrior);
    check_between("prior_rate", model.rate, kLeastPrior, kMostPrior);
    check_between("root_concentration", model.root_concentration, kLeastPrior, kMostPrior);
    for (const double c : state.concentration)
        check_between("concentration", c, 0.0, kMostConcentration);
    for (const double a : state.discount) check_between("discount", a, 0.0, kMostDiscount);
}

// Throws std::invalid_argument unless the rows that end at each node are whole numbers with a sum
// of at most kMostRows.
inline void check_whole_counts(const TreeView& tree) {
    double total = 0.0;
    for (const double n : count_ending_rows(tree)) {
        require(n >= 0.0 && n == std::floor(n), "inference 'gibbs' needs whole counts, got ", n,
                ": use inference='variational'");
        total += n;
    }
    require(total <= kMostRows,
            "counts must have a sum of at most 2**53 for inference 'gibbs', got ", total,
            ": use inference='variational'");
}

// The deterministic fixed point; returns the number of passes made. state.concentration and
// state.discount hold the start; p becomes the estimate of phi.
int solve_process(const ProcessModel& model, int max_passes, double tolerance, ProcessState& state,
                  std::span<double> p);

struct GibbsPlan {
    std::int64_t n_sweeps;   // in all
    std::int64_t n_burn_in;  // of them not averaged
    std::int64_t n_draws;    // draws of phi, spread evenly over the kept sweeps
    std::uint64_t seed;
};

struct GibbsResult {
    std::vector<double> mean;            // per cell: average of phi's conditional mean
    std::vector<double> draws;           // draws of phi itself: n_draws x cells
    std::vector<double> concentrations;  // those beside them: n_draws x groups
    std::vector<double> discounts;       // n_draws x groups; empty where all are zero
};

// Gibbs sampling from the given state, which is left at the last sweep: of the hierarchical
// Dirichlet model where state.discount is empty.
GibbsResult sample_process(const ProcessModel& model, const GibbsPlan& plan, ProcessState& state);

}  // namespace priorwise
