// Bindings of the kernels of src/core/smoothing and src/core/processes.
#include "bind/shared/define.hpp"
#include "processes/process.hpp"
#include "processes/stirling.hpp"
#include "smoothing/smoothers.hpp"

namespace priorwise {
namespace {

// Weights of the nodes of a tree: finite and not negative.
void check_node_weights(std::span<const double> weight, const CountTree& tree, const char* name) {
    check_size(weight.size(), tree.parent.size(), name, "node of the tree");
    check_finite(weight, name);
    bool right = true;
    for (const double w : weight) right &= w >= 0.0;
    require(right, name, " must not be negative");
}

NumpyVector<double> shrink_of(const CountTree& tree, Vector<double> weight, bool towards_parent,
                              bool copy_empty) {
    check_node_weights(weight, tree, "weight");
    std::vector<double> p(tree.counts.size());
    without_gil([&] {
        shrink(tree.view(), weight, towards_parent ? Base::kParent : Base::kUniform, copy_empty, p);
    });
    return to_numpy(std::move(p));
}

NumpyVector<std::int32_t> node_heights_of(const CountTree& tree) {
    std::vector<std::int32_t> height(tree.parent.size());
    node_heights(tree.parent, height);
    return to_numpy(std::move(height));
}

RowLoss row_loss(const std::string& word) {
    return choose<RowLoss>("loss", word, {{"log", RowLoss::kLog}, {"squared", RowLoss::kSquared}});
}

std::pair<double, NumpyVector<double>> hgs_loss_of(const CountTree& tree, Vector<double> alpha,
                                                   const std::string& loss) {
    check_node_weights(alpha, tree, "alpha");
    const auto kind = row_loss(loss);
    std::vector<double> gradient(tree.parent.size());
    auto cost = without_gil([&] { return hgs_loss(tree.view(), alpha, kind, gradient); });
    return {cost, to_numpy(std::move(gradient))};
}

NumpyVector<double> optimise_hgs_by_level_of(const CountTree& tree, const std::string& loss,
                                             double prior_sd) {
    const auto kind = row_loss(loss);
    require(prior_sd > 0.0, "prior_sd must be above 0");
    return to_numpy(
        without_gil([&] { return optimise_hgs_by_level(tree.view(), kind, prior_sd); }));
}

NumpyVector<double> hgs_estimate_of(const CountTree& tree, Vector<double> alpha) {
    check_node_weights(alpha, tree, "alpha");
    std::vector<double> p(tree.counts.size());
    without_gil([&] { hgs_estimate(tree.view(), alpha, p); });
    return to_numpy(std::move(p));
}

NumpyVector<double> shrink_hierarchically_of(const CountTree& tree, double strength) {
    check_not_negative(strength, "strength");
    std::vector<double> p(tree.counts.size());
    without_gil([&] { shrink_hierarchically(tree.view(), strength, p); });
    return to_numpy(std::move(p));
}

std::pair<NumpyVector<double>, NumpyVector<double>> average_prunings_of(const CountTree& tree,
                                                                        double stop, double pseudo,
                                                                        double rate) {
    require(stop > 0.0 && stop < 1.0, "stop must lie between 0 and 1");
    check_positive(pseudo, "pseudo");
    check_not_negative(rate, "rate");
    std::vector<double> p(tree.counts.size()), ends(tree.parent.size());
    without_gil([&] { average_prunings(tree.view(), {stop, pseudo, rate}, p, ends); });
    return {to_numpy(std::move(p)), to_numpy(std::move(ends))};
}

// The number of groups of the nodes below the root. The kernels check the priors.
std::int32_t check_groups(const CountTree& tree, const Vector<std::int32_t>& group,
                          const Vector<double>& concentration,
                          const std::optional<Vector<double>>& discount) {
    check_size(group.size(), tree.parent.size(), "group", "node of the tree");
    check_range(concentration.size(), 0, std::numeric_limits<std::int32_t>::max(),
                "groups of concentration");
    const auto n_groups = static_cast<std::int32_t>(concentration.size());
    check_codes(view(group).subspan(1), n_groups, "group");
    if (discount) check_size(discount->size(), concentration.size(), "discount", "group");
    return n_groups;
}

ProcessState start_of(std::vector<double> passed, const Vector<double>& concentration,
                      const std::optional<Vector<double>>& discount) {
    ProcessState state{std::move(passed), {concentration.begin(), concentration.end()}, {}};
    if (discount) state.discount.assign(discount->begin(), discount->end());
    return state;
}

auto solve_of(const CountTree& tree, Vector<std::int32_t> group, Vector<double> concentration,
              const std::optional<Vector<double>>& discount, bool learn_discounts, double shape,
              double rate, double root_concentration, std::int32_t max_passes, double tolerance) {
    const auto n_groups = check_groups(tree, group, concentration, discount);
    check_at_least(max_passes, 0, "max_passes");
    require(!std::isnan(tolerance), "tolerance must not be NaN");
    const auto view = tree.view();
    const ProcessModel model{view,           group, n_groups, shape, rate, root_concentration,
                             learn_discounts};
    ProcessState state = start_of({}, concentration, discount);
    std::vector<double> p(tree.counts.size());
    auto n_passes =
        without_gil([&] { return solve_process(model, max_passes, tolerance, state, p); });
    return std::tuple(to_numpy(std::move(p)), to_numpy(std::move(state.passed)),
                      to_numpy(std::move(state.concentration)), to_numpy(std::move(state.discount)),
                      n_passes);
}

auto sample_of(const CountTree& tree, Vector<std::int32_t> group, Vector<double> passed,
               Vector<double> concentration, const std::optional<Vector<double>>& discount,
               bool learn_discounts, double shape, double rate, double root_concentration,
               std::int64_t n_sweeps, std::int64_t n_burn_in, std::int64_t n_draws,
               std::uint64_t seed) {
    const auto n_groups = check_groups(tree, group, concentration, discount);
    const auto n_cells = tree.counts.size();
    check_size(passed.size(), n_cells, "passed", "cell of the tree");
    check_finite(view(passed), "passed");
    check_range(n_sweeps, 1, std::numeric_limits<std::int32_t>::max(), "n_sweeps");
    check_range(n_burn_in, 0, n_sweeps - 1, "n_burn_in");
    check_at_least(n_draws, 0, "n_draws");
    require_memory(8.0 * static_cast<double>(n_draws) *
                       static_cast<double>(n_cells + 2 * concentration.size()),
                   n_cells, "n_draws", n_draws);
    const auto view = tree.view();
    const ProcessModel model{view,           group, n_groups, shape, rate, root_concentration,
                             learn_discounts};
    ProcessState state = start_of({passed.begin(), passed.end()}, concentration, discount);
    auto result = without_gil(
        [&] { return sample_process(model, {n_sweeps, n_burn_in, n_draws, seed}, state); });
    const auto n_drawn = static_cast<std::size_t>(n_draws);
    const auto n_discounts = state.discount.size();
    return std::tuple(to_numpy(std::move(result.mean)),
                      to_numpy(std::move(result.draws), {n_drawn, n_cells}),
                      to_numpy(std::move(result.concentrations), {n_drawn, concentration.size()}),
                      to_numpy(std::move(result.discounts), {n_drawn, n_discounts}),
                      to_numpy(std::move(state.passed)), to_numpy(std::move(state.concentration)),
                      to_numpy(std::move(state.discount)));
}

void check_seating(std::int64_t n, std::int64_t t) {
    check_range(n, 1, std::int64_t{1} << 53, "n");
    check_range(t, 1, n, "t");
}

DiscountedStirling make_discounted(std::int64_t n, std::int64_t t, double discount) {
    check_seating(n, t);
    require(discount > 0.0 && discount <= kMostDiscount, "discount must lie above 0, up to ",
            kMostDiscount, ", got ", discount);
    return DiscountedStirling(discount, n);
}

double discounted_stirling_ratio(std::int64_t n, std::int64_t t, double discount) {
    return make_discounted(n, t, discount)(n, t);
}

double log_discounted_stirling(std::int64_t n, std::int64_t t, double discount) {
    return make_discounted(n, t, discount).log_number(n, t);
}

double stirling_ratio(std::int64_t n, std::int64_t t) {
    check_seating(n, t);
    thread_local StirlingRatios ratios;
    return ratios(n, t);
}

NumpyVector<double> level_weights_of(const CountTree& tree) {
    return to_numpy(without_gil([&] { return level_weights(tree.view()); }));
}

}  // namespace

void bind_smoothing(nb::module_& m) {
    define(m, "shrink", &shrink_of, "tree", "weight", "towards_parent", "copy_empty");
    define(m, "node_heights", &node_heights_of, "tree");
    define(m, "hgs_loss", &hgs_loss_of, "tree", "alpha", "loss");
    define(m, "optimise_hgs_by_level", &optimise_hgs_by_level_of, "tree", "loss", "prior_sd");
    define(m, "hgs_estimate", &hgs_estimate_of, "tree", "alpha");
    define(m, "shrink_hierarchically", &shrink_hierarchically_of, "tree", "strength");
    define(m, "average_prunings", &average_prunings_of, "tree", "stop", "pseudo", "rate");
    define(m, "solve_process", &solve_of, "tree", "group", "concentration", "discount",
           "learn_discounts", "shape", "rate", "root_concentration", "max_passes", "tolerance");
    define(m, "sample_process", &sample_of, "tree", "group", "passed", "concentration", "discount",
           "learn_discounts", "shape", "rate", "root_concentration", "n_sweeps", "n_burn_in",
           "n_draws", "seed");
    define(m, "discounted_stirling_ratio", &discounted_stirling_ratio, "n", "t", "discount");
    define(m, "log_discounted_stirling", &log_discounted_stirling, "n", "t", "discount");
    define(m, "stirling_ratio", &stirling_ratio, "n", "t");
    define(m, "level_weights", &level_weights_of, "tree");
}

}  // namespace priorwise
