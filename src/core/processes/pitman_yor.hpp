// The hierarchical Pitman-Yor model of a tree of counts.
//
// As the model of hdp.hpp, with a discount a, 0 <= a < 1, beside each concentration c:
//
//     phi_u ~ PitmanYor(c, a, phi_parent),  c ~ Gamma(shape, rate)
//
// With phi integrated out, t_uk of the n_uk rows passed on to the parent and T_u their sum:
//
//     p(data, t | c, a) = Dirichlet integral at the root
//                         * prod_u (c | a)_T_u / (c)_N_u prod_k S_a(n_uk, t_uk),
//
// where (c | a)_T = c (c + a) ... (c + (T - 1) a), (c)_N = (c | 1)_N, and S_a are generalised
// Stirling numbers. Given n and t, phi has the mean (n - a t + (c + a T) phi_parent) / (N + c).
#pragma once

#include "processes/hdp.hpp"

namespace priorwise {

constexpr double kMostDiscount = 0.95;

// Pseudo-counts, concentrations and discounts.
struct PitmanYorState {
    std::vector<double> passed;         // t, per cell
    std::vector<double> concentration;  // c, per group
    std::vector<double> discount;       // a, per group
};

void check_discounts(std::span<const double> discount);

// The mean and log Z of the number of tables t of n rows whose distribution is
// S_a(n, t) x^t / Z, for real n.
struct Seating {
    double mean;
    double variance;
    double log_z;
};
Seating seat_rows(double x, double n, double a);

// The deterministic fixed point; returns the number of passes made. Discounts are learnt as well,
// from the given ones on, or stay as they are.
int solve_pitman_yor(const HdpModel& model, bool learn_discounts, int max_passes, double tolerance,
                     PitmanYorState& state, std::span<double> p);

// Gibbs sampling of t and c for given discounts, as sample_hdp does.
void sample_pitman_yor(const HdpModel& model, const GibbsPlan& plan, PitmanYorState& state,
                       std::span<double> mean_p, std::span<double> draws,
                       std::span<double> drawn_concentrations);

}  // namespace priorwise
