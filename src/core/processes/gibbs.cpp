// Gibbs sampling for hierarchical Pitman-Yor and Dirichlet models.
//
// A sweep draws every pseudo-count t_uk with n_uk > 1 from its conditional, within a window over
// its present value, then concentrations and discounts. With v the parent of u, one more table
// changes the joint of process.hpp by the factor
//
//     p(t + 1) / p(t) = (c_u + a_u T_u) / V(n_uk, t + 1)
//                       * (n_vk - a_v t_vk + V(n_vk, t_vk)) / (N_v + c_v)
//
// (V: ratios of Stirling numbers; T_u, n_vk and N_v with t in them), and by
// (c_u + a_u T_u) / V(n_uk, t + 1) * (n_vk + c0 / K) / (N_v + c0) below the root: no logarithm, no
// exponential.
#include <algorithm>
#include <array>
#include <type_traits>

#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "processes/parameter_samplers.hpp"
#include "processes/process.hpp"
#include "processes/seated_rows.hpp"
#include "processes/stirling.hpp"

namespace priorwise {
namespace {

// Kept apart so that a step of the window costs one division.
struct Fraction {
    double numerator;
    double denominator;
};

// The values low..high to choose from, and the random bits that choose. The window lies at random
// over the present value, so each of its members would have chosen it with the same probability
// and the move leaves the posterior unchanged; a window centred on the present value would not.
struct TableWindow {
    static constexpr std::int64_t kSize = 21;
    static constexpr double kNegligible = 1e-17;

    std::int64_t low, high;
    std::uint64_t bits;

    // A window over `now` in 1..n, from `least` on. kOneDraw: the bits that place it choose, too.
    template <bool kOneDraw>
    static TableWindow place(std::int64_t n, std::int64_t now, std::int64_t least, Rng& rng) {
        std::uint64_t bits = rng.bits();
        std::int64_t low = 1;
        std::int64_t high = n;
        if (n > kSize) {
            // 4095 is a multiple of 21, so all places of the window are equally probable.
            while ((bits & 0xFFF) == 0xFFF) bits = rng.bits();
            low = now - static_cast<std::int64_t>((bits & 0xFFF) % kSize);
            high = std::min(n, low + kSize - 1);
            if constexpr (!kOneDraw) bits = rng.bits();
        }
        return {std::max(low, least), high, bits};
    }

    // Draw t, with p(t + 1) / p(t) = growth(t) / ratio(t + 1).
    template <class Growth, class Ratio>
    std::int64_t choose(std::int64_t now, Growth growth, Ratio ratio) const {
        std::array<double, kSize> weight;
        weight[now - low] = 1.0;
        double sum = 1.0;
        double w = 1.0;
        std::int64_t last = high;
        for (std::int64_t t = now; t < last; ++t) {
            const Fraction g = growth(t);
            w *= g.numerator / (g.denominator * ratio(t + 1));
            weight[t + 1 - low] = w;
            sum += w;
            if (w < kNegligible * sum) last = t + 1;
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
        while (t < last && left >= weight[t - low]) left -= weight[t++ - low];
        return t;
    }
};

struct LeafCell {
    std::int32_t cell;
    std::int32_t node;
};

// c + a T of a node with t tables at one of its cells; c has the tables of the others.
template <bool kDiscounted>
struct Opening {
    double c, a;
    double weight(double t) const { return kDiscounted ? c + a * t : c; }
};

// kDiscounted is false where all discounts are zero and stay so.
template <bool kDiscounted>
class GibbsSampler {
  public:
    GibbsSampler(const ProcessModel& model, ProcessState& state, std::uint64_t seed)
        : rows_(model, state),
          tree_(model.tree),
          rng_(seed),
          phi_(rows_.n.size()),
          concentrations_(rows_),
          discounts_(rows_) {
        for (auto& c : state.concentration) c = std::max(c, kLeastSampled);
        for (const auto node : rows_.leaves)
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (rows_.n[cell] > 1)
                    leaf_cells_.push_back({static_cast<std::int32_t>(cell), node});
    }

    void sweep() {
        for (std::size_t i = 0; i < leaf_cells_.size(); ++i) {
            poll_every<4096>(i);
            sample_passed(leaf_cells_[i].cell, leaf_cells_[i].node);
        }
        for (std::size_t i = rows_.inner.size(); i-- > 0;) {
            poll_every<kDiscounted ? 256 : 1024>(i);
            const auto node = rows_.inner[i];
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (rows_.n[cell] > 1) sample_passed(static_cast<std::int32_t>(cell), node);
        }
        concentrations_.sample(rows_, rng_);
        discounts_.sample(rows_, rng_);
    }

    // Conditional mean of phi given the pseudo-counts, added to sum.
    void add_mean(std::span<double> sum) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<4096>(node);
            const double shared = rows_.shared(node);
            const double scale =
                1.0 / (static_cast<double>(rows_.total[node]) + rows_.concentration(node));
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                phi_[cell] = (rows_.kept(node, cell) + shared * above(phi_, node, cell)) * scale;
                sum[cell] += phi_[cell];
            }
        }
    }

    // One draw of phi given the pseudo-counts.
    void draw(std::span<double> phi) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<kDiscounted ? 256 : 1024>(node);
            const auto first = tree_.row_start[node];
            const auto n_listed = tree_.row_start[node + 1] - first;
            node_draw_.clear();
            for (auto cell = first; cell < first + n_listed; ++cell)
                node_draw_.add(rows_.kept(node, cell), above(phi, node, cell));
            node_draw_.close(n_listed < tree_.n_outcomes);
            const auto row =
                phi.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n_listed));
            if constexpr (kDiscounted) {
                node_draw_.draw_pitman_yor(rng_, rows_.shared(node), rows_.discount(node), row);
            } else {
                node_draw_.draw_dirichlet(rng_, rows_.concentration(node), row);
            }
        }
    }

    void write_state() const { std::ranges::copy(rows_.t, rows_.state.passed.begin()); }

  private:
    using Discounts = std::conditional_t<kDiscounted, DiscountSampler, NoDiscounts>;

    double above(std::span<const double> phi, std::int32_t node, std::int64_t cell) const {
        return node == 0 ? 1.0 / tree_.n_outcomes : phi[tree_.parent_cell[cell]];
    }

    void sample_passed(std::int32_t cell, std::int32_t node) {
        const auto passed =
            tree_.parent[node] == 0 ? choose_below_root(cell, node) : choose_passed(cell, node);
        rows_.change_passed(node, cell, passed - rows_.t[cell]);
    }

    Opening<kDiscounted> opening_at(std::int32_t cell, std::int32_t node) const {
        return {rows_.shared(node, rows_.t[cell]), rows_.discount(node)};
    }

    TableWindow place_window(std::int32_t cell, std::int64_t least) {
        return TableWindow::place<!kDiscounted>(rows_.n[cell], rows_.t[cell], least, rng_);
    }

    std::int64_t choose_below_root(std::int32_t cell, std::int32_t node) {
        const std::int64_t now = rows_.t[cell];
        const double c0 = rows_.model.root_concentration;
        // The root's counts without this cell.
        const auto others = static_cast<double>(rows_.n[tree_.parent_cell[cell]] - now);
        const auto total = static_cast<double>(rows_.total[0] - now);
        const double pseudo = others + c0 / tree_.n_outcomes;
        return choose(cell, node, place_window(cell, 1),
                      [=, opening = opening_at(cell, node)](std::int64_t t) {
                          const auto x = static_cast<double>(t);
                          return Fraction{opening.weight(x) * (pseudo + x), total + x + c0};
                      });
    }

    std::int64_t choose_passed(std::int32_t cell, std::int32_t node) {
        const auto above_cell = tree_.parent_cell[cell];
        const auto above_node = tree_.parent[node];
        const std::int64_t now = rows_.t[cell];
        const std::int64_t t_above = rows_.t[above_cell];
        // The parent's counts without this cell.
        const std::int64_t others = rows_.n[above_cell] - now;
        const double denominator =
            static_cast<double>(rows_.total[above_node] - now) + rows_.concentration(above_node);
        const double seated =
            kDiscounted ? rows_.discount(above_node) * static_cast<double>(t_above) : 0.0;
        const auto opening = opening_at(cell, node);
        const auto window = place_window(cell, std::max<std::int64_t>(1, t_above - others));
        auto& ratios = discounts_.ratios_of(rows_.model.group[above_node]);
        const auto furthest = kDiscounted ? window.high : now + TableWindow::kSize;
        if (others + furthest <= ratios.kTableRows)
            return choose(cell, node, window, [&](std::int64_t t) {
                const std::int64_t n = others + t;
                const auto x = static_cast<double>(t);
                const double v = ratios.in_table(n, t_above);
                return Fraction{opening.weight(x) * (static_cast<double>(n) - seated + v),
                                denominator + x};
            });
        // V is costly here, but V is close to a line over the window, and without discounts 1 / V
        // is closer: the line through the window's ends, the same whichever of its members is the
        // present value.
        const double numerator = t_above > 1 ? 1.0 : 0.0;  // V(n, 1) = 0
        const auto height = [&](std::int64_t t) {
            if constexpr (kDiscounted) return ratios(others + t, t_above);
            return t_above > 1 ? 1.0 / ratios(others + t, t_above) : 1.0;
        };
        const double first = height(window.low);
        const auto width = static_cast<double>(window.high - window.low);
        const double slope = width == 0.0 ? 0.0 : (height(window.high) - first) / width;
        return choose(cell, node, window, [=, low = window.low](std::int64_t t) {
            const auto x = static_cast<double>(t);
            const auto n = static_cast<double>(others + t);
            const double line = first + slope * static_cast<double>(t - low);
            if constexpr (kDiscounted)
                return Fraction{opening.weight(x) * (n - seated + line), denominator + x};
            return Fraction{opening.weight(x) * (n * line + numerator), (denominator + x) * line};
        });
    }

    // Draw t in the window; growth(t) * S(n, t + 1) / S(n, t) is p(t + 1) / p(t).
    template <class Growth>
    std::int64_t choose(std::int32_t cell, std::int32_t node, const TableWindow& window,
                        Growth growth) {
        auto& ratios = discounts_.ratios_of(rows_.model.group[node]);
        const auto n = rows_.n[cell];
        const auto now = rows_.t[cell];
        if constexpr (!kDiscounted)
            if (n <= ratios.kTableRows)
                return window.choose(now, growth,
                                     [row = ratios.row(n)](std::int64_t t) { return row[t]; });
        return window.choose(now, growth, [&](std::int64_t t) { return ratios(n, t); });
    }

    SeatedRows<kDiscounted> rows_;
    const TreeView& tree_;
    Rng rng_;
    std::vector<double> phi_;
    ConcentrationSampler<kDiscounted> concentrations_;
    Discounts discounts_;
    NodeDraw node_draw_;
    std::vector<LeafCell> leaf_cells_;  // cells of rows_.leaves with rows to share
};

// Burn-in, means and draws.
template <bool kDiscounted>
GibbsResult run_sampler(const ProcessModel& model, const GibbsPlan& plan, ProcessState& state) {
    GibbsSampler<kDiscounted> sampler(model, state, plan.seed);
    const auto n_cells = model.tree.counts.size();
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

}  // namespace

GibbsResult sample_process(const ProcessModel& model, const GibbsPlan& plan, ProcessState& state) {
    check_model(model, state);
    check_whole_counts(model.tree);
    return state.discount.empty() ? run_sampler<false>(model, plan, state)
                                  : run_sampler<true>(model, plan, state);
}

}  // namespace priorwise
