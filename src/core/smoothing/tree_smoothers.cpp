#include "smoothing/tree_smoothers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

double log_add(double a, double b) {
    const double high = std::max(a, b);
    return high + std::log1p(std::exp(std::min(a, b) - high));
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
    const double log_share_gamma = std::lgamma(share);
    std::vector<double> log_stop(n_nodes);        // log (stop E^rate), then of the posterior
    std::vector<double> log_below(n_nodes, 0.0);  // log of the product over the children
    const auto leaf = find_leaves(tree);
    for (auto node = n_nodes; node-- > 0;) {
        poll_every<1024>(node);
        double evidence = std::lgamma(prior.pseudo) - std::lgamma(totals[node] + prior.pseudo);
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell)
            if (tree.counts[cell] > 0.0)
                evidence += std::lgamma(tree.counts[cell] + share) - log_share_gamma;
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

}  // namespace priorwise
