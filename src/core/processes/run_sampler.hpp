// The sweeps of a sampler: burn-in, means and draws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/interrupt.hpp"
#include "processes/process.hpp"

namespace priorwise {

// Runs the sweeps of a plan, as sample_process describes; `state` changes with them.
template <class Sampler>
GibbsResult run_sampler(Sampler& sampler, const GibbsPlan& plan, std::size_t n_cells,
                        const ProcessState& state) {
    GibbsResult result;
    result.mean.assign(n_cells, 0.0);
    result.draws.resize(static_cast<std::size_t>(plan.n_draws) * n_cells);
    const std::int64_t n_kept = plan.n_sweeps - plan.n_burn_in;
    std::int64_t n_drawn = 0;
    const auto append = [](std::vector<double>& draws, const std::vector<double>& values) {
        draws.insert(draws.end(), values.begin(), values.end());
    };
    for (std::int64_t sweep = 0; sweep < plan.n_sweeps; ++sweep) {
        poll_interrupt();
        sampler.sweep();
        if (sweep < plan.n_burn_in) continue;
        sampler.add_mean(result.mean);
        const std::int64_t kept = sweep - plan.n_burn_in + 1;
        for (; n_drawn < plan.n_draws && (n_drawn + 1) * n_kept <= kept * plan.n_draws; ++n_drawn) {
            const auto first = static_cast<std::size_t>(n_drawn) * n_cells;
            sampler.draw(std::span(result.draws).subspan(first, n_cells));
            append(result.concentrations, state.concentration);
            append(result.discounts, state.discount);
        }
    }
    for (auto& p : result.mean) p /= static_cast<double>(n_kept);
    sampler.write_state();
    return result;
}

}  // namespace priorwise
