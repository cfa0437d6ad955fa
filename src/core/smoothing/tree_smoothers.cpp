#include "smoothing/smoothers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/bfgs.hpp"
#include "common/interrupt.hpp"
#include "common/special.hpp"

namespace priorwise {
namespace {

double log_add(double a, double b) {
    const double high = std::max(a, b);
    return high + std::log1p(std::exp(std::min(a, b) - high));
}

constexpr double kMaxPrecision = 1e12;

// The sum of alpha over the ancestors of each node.
std::vector<double> add_up(const TreeView& tree, std::span<const double> alpha) {
    std::vector<double> sums(tree.parent.size(), 0.0);
    for (std::size_t node = 1; node < sums.size(); ++node)
        sums[node] = sums[tree.parent[node]] + alpha[tree.parent[node]];
    return sums;
}

// Frequency of the cell's outcome at its node with `removed` rows of that outcome taken out; the
// parent's frequency where nothing is left.
double frequency(const TreeView& tree, std::int32_t node, std::int64_t cell, double removed,
                 std::span<const double> theta) {
    const double n = tree.counts[cell] - removed;
    const double total = tree.totals[node] - removed;
    if (node == 0) return (n + 1.0 / tree.n_outcomes) / (total + 1.0);
    return total > 0.0 ? n / total : theta[tree.parent_cell[cell]];
}

}  // namespace

void shrink_hierarchically(const TreeView& tree, double strength, std::span<double> p) {
    const auto& totals = tree.totals;
    std::vector<double> theta(tree.counts.size());
    // The step falls along a path, as the rows do. Then p is a mean of the frequencies on the path
    // with weights that are not negative; counts that were changed in place must not break that.
    std::vector<double> step(tree.parent.size(), 1.0);
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        const auto parent = tree.parent[node];
        if (node > 0)
            step[node] = totals[parent] <= 0.0
                             ? 0.0
                             : std::min(step[parent], 1.0 / (1.0 + strength / totals[parent]));
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            if (node == 0) {
                theta[cell] = (tree.counts[cell] + 1.0 / tree.n_outcomes) / (totals[0] + 1.0);
                p[cell] = theta[cell];
                continue;
            }
            const auto above = tree.parent_cell[cell];
            theta[cell] = totals[node] > 0.0 ? tree.counts[cell] / totals[node] : theta[above];
            p[cell] = std::max(0.0, p[above] + step[node] * (theta[cell] - theta[above]));
        }
    }
}

void average_prunings(const TreeView& tree, const PruningPrior& prior, std::span<double> p,
                      std::span<double> ends) {
    const auto n_nodes = tree.parent.size();
    const auto& totals = tree.totals;
    const double share = prior.pseudo / tree.n_outcomes;
    const double log_share_gamma = log_gamma(share);
    std::vector<double> log_stop(n_nodes);        // log (stop E^rate), then of the posterior
    std::vector<double> log_below(n_nodes, 0.0);  // log of the product over the children
    const auto leaf = find_leaves(tree);
    for (auto node = n_nodes; node-- > 0;) {
        poll_every<1024>(node);
        double evidence = log_gamma(prior.pseudo) - log_gamma(totals[node] + prior.pseudo);
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell)
            if (tree.counts[cell] > 0.0)
                evidence += log_gamma(tree.counts[cell] + share) - log_share_gamma;
        double log_weight = prior.rate * evidence;
        if (leaf[node]) {
            log_stop[node] = 0.0;
        } else {
            const double stops = std::log(prior.stop) + log_weight;
            log_weight = log_add(stops, std::log1p(-prior.stop) + log_below[node]);
            log_stop[node] = stops - log_weight;
        }
        if (node > 0) log_below[tree.parent[node]] += log_weight;
    }
    // Prunings that end above a node are done; for those that reach it the node is taken as a
    // leaf.
    std::vector<double> answered(tree.counts.size());
    std::vector<double> reach(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        const auto parent = tree.parent[node];
        reach[node] = node == 0 ? 1.0 : reach[parent] * -std::expm1(log_stop[parent]);
        ends[node] = std::exp(log_stop[node]);
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            const double estimate = (tree.counts[cell] + share) / (totals[node] + prior.pseudo);
            const double above = node == 0 ? 0.0 : answered[tree.parent_cell[cell]];
            answered[cell] = above + reach[node] * ends[node] * estimate;
            p[cell] = totals[node] > 0.0 || node == 0 ? above + reach[node] * estimate
                                                      : p[tree.parent_cell[cell]];
        }
    }
}

double hgs_loss(const TreeView& tree, std::span<const double> alpha, RowLoss loss,
                std::span<double> gradient) {
    const auto alpha_sum = add_up(tree, alpha);
    const auto leaf = find_leaves(tree);
    const auto n_cells = tree.counts.size();
    std::vector<double> theta(n_cells);              // leave-one-out frequency
    std::vector<double> weighted(n_cells, 0.0);      // sum of alpha theta over the ancestors
    std::vector<double> slope(n_cells, 0.0);         // d cost / d weighted, summed over the leaves
    std::vector<double> slope_p(alpha.size(), 0.0);  // the same times p, per node
    std::ranges::fill(gradient, 0.0);
    const double n_rows = tree.totals[0];
    if (n_rows <= 0.0) return 0.0;
    double cost = 0.0;
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        poll_every<1024>(node);
        const auto parent = tree.parent[node];
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            const double n = tree.counts[cell];
            const double removed = std::min(1.0, n);
            theta[cell] = frequency(tree, node, cell, removed, theta);
            if (node > 0) {
                const auto above = tree.parent_cell[cell];
                weighted[cell] = weighted[above] + alpha[parent] * theta[above];
            }
            if (!leaf[node] || n <= 0.0 || node == 0) continue;
            const double denominator = tree.totals[node] - removed + alpha_sum[node];
            const double p = (n - removed + weighted[cell]) / denominator;
            cost += n * (loss == RowLoss::kLog ? -std::log2(p) : (1.0 - p) * (1.0 - p));
            const double derivative =
                loss == RowLoss::kLog ? -1.0 / (p * std::numbers::ln2) : -2.0 * (1.0 - p);
            slope[cell] = n * derivative / denominator;
            slope_p[node] += slope[cell] * p;
        }
    }
    for (std::int32_t node = tree.n_nodes() - 1; node >= 0; --node) {
        poll_every<1024>(node);
        double towards_theta = 0.0;
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            towards_theta += slope[cell] * theta[cell];
            if (node > 0) slope[tree.parent_cell[cell]] += slope[cell];
        }
        if (!leaf[node]) gradient[node] = (towards_theta - slope_p[node]) / n_rows;
        if (node > 0) slope_p[tree.parent[node]] += slope_p[node];
    }
    return cost / n_rows;
}

std::vector<double> optimise_hgs_by_level(const TreeView& tree, RowLoss loss, double prior_sd) {
    const auto n_levels = tree.level_start.size() - 1;
    const auto for_level = [&](auto&& body) {
        for (std::size_t level = 0; level < n_levels; ++level)
            for (auto node = tree.level_start[level]; node < tree.level_start[level + 1]; ++node)
                body(level, node);
    };
    std::vector<double> alpha(tree.parent.size(), 1.0);
    const double n_rows = tree.totals[0];
    if (n_levels < 2 || n_rows <= 0.0) return alpha;

    std::vector<double> by_node(alpha.size());
    // Beyond kMaxPrecision the weights are one to many digits, and products would overflow.
    const double precision = std::min(kMaxPrecision, 1.0 / (prior_sd * prior_sd * n_rows));
    const auto penalised = [&](const std::vector<double>& log_alpha, std::vector<double>& slope) {
        for_level([&](auto level, auto node) { alpha[node] = std::exp(log_alpha[level]); });
        double cost = hgs_loss(tree, alpha, loss, by_node);
        std::ranges::fill(slope, 0.0);
        for_level([&](auto level, auto node) { slope[level] += alpha[node] * by_node[node]; });
        for (std::size_t level = 0; level < n_levels; ++level) {
            cost += 0.5 * precision * log_alpha[level] * log_alpha[level];
            slope[level] += precision * log_alpha[level];
        }
        return cost;
    };
    std::vector<double> log_alpha(n_levels, 0.0);
    minimise_in_box(penalised, Box{-7.0, 12.0}, log_alpha);
    for_level([&](auto level, auto node) { alpha[node] = std::exp(log_alpha[level]); });
    return alpha;
}

void hgs_estimate(const TreeView& tree, std::span<const double> alpha, std::span<double> p) {
    const auto alpha_sum = add_up(tree, alpha);
    std::vector<double> theta(tree.counts.size());
    std::vector<double> weighted(tree.counts.size(), 0.0);
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            theta[cell] = frequency(tree, node, cell, 0.0, theta);
            if (node == 0) {
                p[cell] = theta[cell];
                continue;
            }
            const auto above = tree.parent_cell[cell];
            weighted[cell] = weighted[above] + alpha[tree.parent[node]] * theta[above];
            p[cell] = tree.totals[node] > 0.0 ? (tree.counts[cell] + weighted[cell]) /
                                                    (tree.totals[node] + alpha_sum[node])
                                              : p[above];
        }
    }
}

}  // namespace priorwise
