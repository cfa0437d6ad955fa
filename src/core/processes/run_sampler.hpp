// The sweeps of a sampler: burn-in, means and draws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/interrupt.hpp"
#include "processes/hdp.hpp"

namespace priorwise {

// Runs the sweeps of a plan, as sample_hdp describes; `concentration` changes with them.
template <class Sampler>
void run_sampler(Sampler& sampler, const GibbsPlan& plan, std::size_t n_cells,
                 const std::vector<double>& concentration, std::span<double> mean_p,
                 std::span<double> draws, std::span<double> drawn_concentrations) {
    std::ranges::fill(mean_p, 0.0);
    const std::int64_t n_kept = plan.n_sweeps - plan.n_burn_in;
    std::int64_t n_drawn = 0;
    for (std::int64_t sweep = 0; sweep < plan.n_sweeps; ++sweep) {
        poll_interrupt();
        sampler.sweep();
        if (sweep < plan.n_burn_in) continue;
        sampler.add_mean(mean_p);
        const std::int64_t kept = sweep - plan.n_burn_in + 1;
        for (; n_drawn < plan.n_draws && (n_drawn + 1) * n_kept <= kept * plan.n_draws; ++n_drawn) {
            const auto place = static_cast<std::size_t>(n_drawn);
            sampler.draw(draws.subspan(place * n_cells, n_cells));
            std::ranges::copy(concentration,
                              drawn_concentrations.begin() + place * concentration.size());
        }
    }
    for (auto& p : mean_p) p /= static_cast<double>(n_kept);
    sampler.write_state();
}

}  // namespace priorwise
