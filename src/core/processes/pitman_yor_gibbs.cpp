// Gibbs sampling for the hierarchical Pitman-Yor model.
//
// As in hdp_gibbs.cpp, a sweep draws every pseudo-count t_uk with n_uk > 1 within a window of 21
// that lies at random over its present value. With v the parent of u, one more table changes the
// joint of process.hpp by the factor
//
//     p(t + 1) / p(t) = (c_u + a_u T_u) / V(n_uk, t + 1)
//                       * (n_vk - a_v t_vk + V(n_vk, t_vk)) / (N_v + c_v)
//
// and below the root by (c_u + a_u T_u) / V(n_uk, t + 1) * (n_vk + c0 / K) / (N_v + c0).
//
// Concentrations: with q_j ~ Beta(c, N_j) and y_ji ~ Bernoulli(c / (c + a i)) for i < T_j, the
// conditional of c is Gamma(shape + sum y_ji, rate + sum -log q_j) (Teh 2006).
//
// Discounts that are learnt have values 0.01, 0.03, ..., 0.95 with prior probabilities in
// proportion to (1 - a)^2, the density of Beta(1, 3), so that all groups share few tables of
// Stirling ratios. A sweep draws each within a window of 5 that lies at random over its present
// value, from its conditional (1 - a)^2 prod_j (c | a)_T_j prod_k S_a(n_jk, t_jk).
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "common/special.hpp"
#include "processes/discounted_stirling.hpp"
#include "processes/discounts.hpp"
#include "processes/process.hpp"
#include "processes/run_sampler.hpp"
#include "processes/stirling.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kWindow = 21;
constexpr double kLeastSampled = 1e-12;
constexpr std::int64_t kSingleCoins = 4096;
constexpr std::int32_t kDiscountWindow = 5;
// Sticks of a Pitman-Yor process that are broken one by one; the rest is a Dirichlet distribution
// of the same mean and variance.
constexpr int kSticks = 48;

// Ratios for one discount, which may be zero.
class Ratios {
  public:
    Ratios(double discount, std::int64_t most_rows) {
        if (discount > 0.0) discounted_ = std::make_unique<DiscountedStirling>(discount, most_rows);
    }
    double operator()(std::int64_t n, std::int64_t t) {
        return discounted_ ? (*discounted_)(n, t) : plain_(n, t);
    }
    double log_number(std::int64_t n, std::int64_t t) { return discounted_->log_number(n, t); }

  private:
    std::unique_ptr<DiscountedStirling> discounted_;
    StirlingRatios plain_;
};

class GibbsSampler {
  public:
    GibbsSampler(const ProcessModel& model, ProcessState& state, std::uint64_t seed)
        : model_(model),
          tree_(model.tree),
          state_(state),
          rng_(seed),
          leaf_(find_leaves(tree_)),
          n_(tree_.counts.size(), 0),
          t_(tree_.counts.size(), 0),
          total_(leaf_.size(), 0),
          tables_(leaf_.size(), 0),
          phi_(n_.size()) {
        for (auto& c : state_.concentration) c = std::max(c, kLeastSampled);
        if (model_.learns_discounts)
            for (auto& a : state_.discount) a = discount_at(nearest_discount(a));
        seat_all_rows();
        for (const double a : state_.discount) ratios_.push_back(&ratios_of(a));
        if (!model_.learns_discounts) return;
        nodes_of_.resize(state_.discount.size());
        for (std::int32_t node = 1; node < tree_.n_nodes(); ++node) {
            const auto first = tree_.counts.begin() + tree_.row_start[node];
            const auto last = tree_.counts.begin() + tree_.row_start[node + 1];
            if (std::accumulate(first, last, 0.0) > 1.0)
                nodes_of_[model_.group[node]].push_back(node);
        }
    }

    void sweep() {
        for (std::int32_t node = tree_.n_nodes() - 1; node > 0; --node) {
            poll_every<256>(node);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (n_[cell] > 1) sample_passed(static_cast<std::int32_t>(cell), node);
        }
        sample_concentrations();
        if (model_.learns_discounts)
            for (std::size_t g = 0; g < nodes_of_.size(); ++g) sample_discount(g);
    }

    void add_mean(std::span<double> sum) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<4096>(node);
            const double c = concentration(node);
            const double a = discount(node);
            const double shared = c + a * static_cast<double>(tables_[node]);
            const double scale = 1.0 / (static_cast<double>(total_[node]) + c);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                const double above =
                    node == 0 ? 1.0 / tree_.n_outcomes : phi_[tree_.parent_cell[cell]];
                phi_[cell] = (kept(cell, a) + shared * above) * scale;
                sum[cell] += phi_[cell];
            }
        }
    }

    // One draw of phi: a Dirichlet over the tables' rows and what is left, which is a Pitman-Yor
    // process around the parent's draw. Outcomes that a sparse row does not list are one component.
    void draw(std::span<double> phi) {
        for (std::int32_t node = 0; node < tree_.n_nodes(); ++node) {
            poll_every<256>(node);
            const double a = discount(node);
            const auto first = tree_.row_start[node];
            const auto n_listed = static_cast<std::size_t>(tree_.row_start[node + 1] - first);
            base_.resize(n_listed + 1);
            double listed = 0.0;
            for (std::size_t k = 0; k < n_listed; ++k) {
                const auto cell = first + static_cast<std::int64_t>(k);
                base_[k] = node == 0 ? 1.0 / tree_.n_outcomes : phi[tree_.parent_cell[cell]];
                listed += base_[k];
            }
            base_[n_listed] =
                std::cmp_less(n_listed, tree_.n_outcomes) ? std::max(0.0, 1.0 - listed) : 0.0;
            const double strength = concentration(node) + a * static_cast<double>(tables_[node]);
            draw_process(strength, a);
            log_weight_.resize(n_listed + 1);
            for (std::size_t k = 0; k < n_listed; ++k) {
                const double rows = kept(first + static_cast<std::int64_t>(k), a);
                log_weight_[k] = rows > 0.0 ? rng_.log_gamma(rows) : -1e300;
            }
            log_weight_[n_listed] = rng_.log_gamma(std::max(strength, 1e-300));
            const double largest = *std::ranges::max_element(log_weight_);
            double sum = 0.0;
            for (auto& weight : log_weight_) sum += weight = std::exp(weight - largest);
            for (std::size_t k = 0; k < n_listed; ++k)
                phi[first + static_cast<std::int64_t>(k)] =
                    (log_weight_[k] + log_weight_[n_listed] * process_[k]) / sum;
        }
    }

    void write_state() const { std::ranges::copy(t_, state_.passed.begin()); }

  private:
    double concentration(std::int32_t node) const {
        return node == 0 ? model_.root_concentration : state_.concentration[model_.group[node]];
    }
    double discount(std::int32_t node) const {
        return node == 0 ? 0.0 : state_.discount[model_.group[node]];
    }
    double kept(std::int64_t cell, double a) const {
        return static_cast<double>(n_[cell]) - a * static_cast<double>(t_[cell]);
    }

    void seat_all_rows() {
        const auto ending = count_ending_rows(tree_);
        for (std::size_t cell = 0; cell < n_.size(); ++cell) n_[cell] = std::llround(ending[cell]);
        for (std::int32_t node = tree_.n_nodes() - 1; node >= 0; --node)
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell) {
                total_[node] += n_[cell];
                if (node == 0 || n_[cell] == 0) continue;
                const auto most = static_cast<double>(n_[cell]);
                t_[cell] = std::llround(std::min(std::max(1.0, state_.passed[cell]), most));
                n_[tree_.parent_cell[cell]] += t_[cell];
                tables_[node] += t_[cell];
            }
        // A cell has at most the rows that are counted there, whatever its children pass on.
        for (const double n : tree_.counts) most_rows_ = std::max<std::int64_t>(most_rows_, n);
    }

    Ratios& ratios_of(double a) {
        auto& ratios = by_discount_[a];
        if (!ratios) ratios = std::make_unique<Ratios>(a, most_rows_);
        return *ratios;
    }

    void sample_passed(std::int32_t cell, std::int32_t node) {
        const auto above_cell = tree_.parent_cell[cell];
        const auto above = tree_.parent[node];
        const double c = concentration(node);
        const double a = discount(node);
        auto& own = *ratios_[model_.group[node]];
        const std::int64_t n = n_[cell];
        const std::int64_t now = t_[cell];
        const std::int64_t others = n_[above_cell] - now;
        const std::int64_t total = total_[above] - now;
        const double lambda = c + a * static_cast<double>(tables_[node] - now);
        const std::int64_t t_above = above == 0 ? 0 : t_[above_cell];
        std::int64_t low = 1;
        std::int64_t high = n;
        if (n > kWindow) {
            std::uint64_t bits = rng_.bits();
            // 4095 is a multiple of 21, so all places of the window are equally probable.
            while ((bits & 0xFFF) == 0xFFF) bits = rng_.bits();
            low = now - static_cast<std::int64_t>((bits & 0xFFF) % kWindow);
            high = std::min(n, low + kWindow - 1);
        }
        low = std::max({low, std::int64_t{1}, t_above - others});
        // Ratios of many rows are costly, but close to a line over the window: the line through its
        // ends, the same whichever of its members is the present value.
        double first = 0.0;
        double slope = 0.0;
        const bool is_line = above != 0 && others + high > DiscountedStirling::kTableRows;
        if (is_line) {
            auto& ratio = *ratios_[model_.group[above]];
            first = ratio(others + low, t_above);
            if (high > low)
                slope = (ratio(others + high, t_above) - first) / static_cast<double>(high - low);
        }
        // p(t + 1) / p(t)
        const auto growth = [&](std::int64_t t) {
            const auto x = static_cast<double>(t);
            const auto rows = static_cast<double>(others) + x;
            const double tables = lambda + a * x;
            const double denominator = static_cast<double>(total) + x + concentration(above);
            const double seat =
                above == 0 ? rows + model_.root_concentration / tree_.n_outcomes
                           : rows - discount(above) * static_cast<double>(t_above) +
                                 (is_line ? first + slope * static_cast<double>(t - low)
                                          : (*ratios_[model_.group[above]])(others + t, t_above));
            return tables * seat / (denominator * own(n, t + 1));
        };
        std::array<double, kWindow> weight;
        weight[now - low] = 1.0;
        double sum = 1.0;
        double w = 1.0;
        for (std::int64_t t = now; t < high; ++t) sum += weight[t + 1 - low] = w *= growth(t);
        w = 1.0;
        for (std::int64_t t = now; t > low; --t) sum += weight[t - 1 - low] = w /= growth(t - 1);
        double left = rng_.uniform() * sum;
        std::int64_t t = low;
        while (t < high && left >= weight[t - low]) left -= weight[t++ - low];
        t_[cell] = t;
        n_[above_cell] += t - now;
        total_[above] += t - now;
        tables_[node] += t - now;
    }

    void sample_concentrations() {
        const auto n_groups = state_.concentration.size();
        std::vector<double> shape(n_groups, model_.shape);
        std::vector<double> rate(n_groups, model_.rate);
        for (std::int32_t node = 1; node < tree_.n_nodes(); ++node) {
            poll_every<256>(node);
            if (total_[node] == 0) continue;
            const auto g = model_.group[node];
            const double c = state_.concentration[g];
            const double a = state_.discount[g];
            if (a == 0.0) {
                shape[g] += static_cast<double>(tables_[node]);
            } else {
                shape[g] += count_openings(c, a, tables_[node]);
            }
            rate[g] += rng_.minus_log_beta(c, static_cast<double>(total_[node]));
        }
        for (std::size_t g = 0; g < n_groups; ++g)
            state_.concentration[g] =
                std::clamp(rng_.gamma(shape[g]) / rate[g], kLeastSampled, kMostConcentration);
    }

    void sample_discount(std::size_t g) {
        const auto now = nearest_discount(state_.discount[g]);
        const auto place = static_cast<std::int32_t>(rng_.uniform() * kDiscountWindow);
        const auto first = now - std::min(place, kDiscountWindow - 1);
        const auto low = std::max(0, first);
        const auto high = std::min(kDiscounts, first + kDiscountWindow);
        std::array<double, kDiscountWindow> weight;
        double largest = -1e300;
        for (auto i = low; i < high; ++i)
            largest = std::max(largest, weight[i - low] = log_probability(g, discount_at(i)));
        double sum = 0.0;
        for (auto i = low; i < high; ++i)
            sum += weight[i - low] = std::exp(weight[i - low] - largest);
        double left = rng_.uniform() * sum;
        auto chosen = low;
        while (chosen + 1 < high && left >= weight[chosen - low]) left -= weight[chosen++ - low];
        state_.discount[g] = discount_at(chosen);
        ratios_[g] = &ratios_of(state_.discount[g]);
    }

    // The terms of the joint probability that depend on the discount of a group.
    double log_probability(std::size_t g, double a) {
        auto& ratios = ratios_of(a);
        const double c = state_.concentration[g];
        double sum = 2.0 * std::log(1.0 - a);
        for (const auto node : nodes_of_[g]) {
            poll_every<256>(node);
            sum += log_rising(c, a, tables_[node]);
            for (auto cell = tree_.row_start[node]; cell < tree_.row_start[node + 1]; ++cell)
                if (t_[cell] < n_[cell]) sum += ratios.log_number(n_[cell], t_[cell]);
        }
        return sum;
    }

    // The sum of y_i ~ Bernoulli(c / (c + a i)) over i < n_tables; beyond the first ones a normal
    // number of the same mean and variance.
    double count_openings(double c, double a, std::int64_t n_tables) {
        double sum = 1.0;
        const auto n_single = std::min(n_tables, kSingleCoins);
        for (std::int64_t i = 1; i < n_single; ++i)
            sum += rng_.uniform() * (c + a * static_cast<double>(i)) < c ? 1.0 : 0.0;
        if (n_tables <= n_single) return sum;
        const double ratio = c / a;
        const auto first = ratio + static_cast<double>(n_single);
        const auto last = ratio + static_cast<double>(n_tables);
        const double mean = ratio * (digamma(last) - digamma(first));
        const double variance = mean - ratio * ratio * (trigamma(first) - trigamma(last));
        return sum + std::max(0.0, mean + std::sqrt(std::max(0.0, variance)) * rng_.normal());
    }

    // process_ becomes a draw from the Pitman-Yor process around base_.
    void draw_process(double strength, double a) {
        process_.assign(base_.size(), 0.0);
        double left = 1.0;
        double b = strength;
        if (a > 0.0) {
            for (int stick = 0; stick < kSticks; ++stick, b += a) {
                const double broken = std::exp(rng_.log_gamma(1.0 - a));
                const double rest = std::exp(rng_.log_gamma(b + a));
                const double share = broken / (broken + rest);
                process_[choose_outcome()] += left * share;
                left *= 1.0 - share;
            }
            b = (b + a) / (1.0 - a);
        }
        double largest = -1e300;
        log_weight_.resize(base_.size());
        for (std::size_t k = 0; k < base_.size(); ++k) {
            log_weight_[k] =
                base_[k] > 0.0 ? rng_.log_gamma(std::max(b * base_[k], 1e-300)) : -1e301;
            largest = std::max(largest, log_weight_[k]);
        }
        double sum = 0.0;
        for (auto& weight : log_weight_) sum += weight = std::exp(weight - largest);
        for (std::size_t k = 0; k < base_.size(); ++k) process_[k] += left * log_weight_[k] / sum;
    }

    std::size_t choose_outcome() {
        double sum = 0.0;
        for (const double p : base_) sum += p;
        double place = rng_.uniform() * sum;
        std::size_t k = 0;
        while (k + 1 < base_.size() && place >= base_[k]) place -= base_[k++];
        return k;
    }

    const ProcessModel& model_;
    const TreeView& tree_;
    ProcessState& state_;
    Rng rng_;
    std::map<double, std::unique_ptr<Ratios>> by_discount_;
    std::vector<Ratios*> ratios_;                      // per group
    std::vector<std::vector<std::int32_t>> nodes_of_;  // nodes of each group with rows to share
    std::int64_t most_rows_ = 1;                       // of any cell
    std::vector<char> leaf_;
    std::vector<std::int64_t> n_;       // per cell: rows, or what the children passed
    std::vector<std::int64_t> t_;       // per cell: passed to the parent
    std::vector<std::int64_t> total_;   // per node: sum of n
    std::vector<std::int64_t> tables_;  // per node: sum of t
    std::vector<double> phi_, base_, process_, log_weight_;
};

}  // namespace

GibbsResult sample_pitman_yor(const ProcessModel& model, const GibbsPlan& plan,
                              ProcessState& state) {
    GibbsSampler sampler(model, state, plan.seed);
    return run_sampler(sampler, plan, model.tree.counts.size(), state);
}

}  // namespace priorwise
