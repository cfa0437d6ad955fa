#include <algorithm>
#include <numeric>

#include "common/parallel.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 256;

// The parent of every node of every tree, -1 at a root, and the weight of every node.
struct Ancestry {
    std::vector<std::int32_t> parent;
    std::vector<double> total;
};

Ancestry find_ancestry(const OutOfBag& data, int n_threads) {
    const auto& forest = data.forest;
    const auto width = static_cast<std::size_t>(data.n_outcomes);
    Ancestry found{std::vector<std::int32_t>(forest.nodes.size(), -1),
                   std::vector<double>(forest.nodes.size())};
    parallel_for(forest.n_trees(), n_threads, [&](std::int64_t t) {
        const auto tree = forest.tree(t);
        const auto start = static_cast<std::size_t>(forest.tree_start[t]);
        for (std::size_t u = 0; u < tree.size(); ++u) {
            const auto* row = data.counts.data() + (start + u) * width;
            double sum = 0.0;
            for (std::size_t k = 0; k < width; ++k) sum += row[k];
            found.total[start + u] = sum;
            if (tree[u].leaf()) continue;
            for (const auto child : {tree[u].first, tree[u].first + 1})
                found.parent[start + static_cast<std::size_t>(child)] =
                    static_cast<std::int32_t>(u);
        }
    });
    return found;
}

// Call body(place, tree, leaf, weight) for the rows in `some` and the trees they did not grow:
// blocks of rows on threads, and within a block one tree after the other, which stays in the cache.
template <class Body>
void for_rows_out_of_bag(const ForestView& forest, const ForestRows& rows,
                         std::span<const std::int64_t> some, int n_threads, Body&& body) {
    const auto n_some = static_cast<std::int64_t>(some.size());
    const auto n_rows = rows.n_rows();
    parallel_for((n_some + kBlock - 1) / kBlock, n_threads, [&](std::int64_t block) {
        const auto last = std::min(n_some, (block + 1) * kBlock);
        for (std::int64_t t = 0; t < forest.n_trees(); ++t)
            for (auto i = block * kBlock; i < last; ++i) {
                const auto cell = static_cast<std::size_t>(t * n_rows + some[i]);
                if (rows.out[cell] > 0.0F && rows.leaf[cell] >= 0)
                    body(i, t, rows.leaf[cell], static_cast<double>(rows.out[cell]));
            }
    });
}

}  // namespace

void smooth_forest(const ForestView& forest, std::span<const double> counts, double strength,
                   int n_threads, std::span<double> proba) {
    const auto width = counts.size() / forest.nodes.size();
    parallel_for(forest.n_trees(), n_threads, [&](std::int64_t t) {
        const auto tree = forest.tree(t);
        const auto start = static_cast<std::size_t>(forest.tree_start[t]) * width;
        const auto* n = counts.data() + start;
        auto* p = proba.data() + start;
        const std::vector<double> uniform(width, 1.0 / static_cast<double>(width));
        const auto shrink = [&](std::size_t u, double c, const double* base) {
            double total = 0.0;
            for (std::size_t k = 0; k < width; ++k) total += n[u * width + k];
            for (std::size_t k = 0; k < width; ++k)
                p[u * width + k] = (n[u * width + k] + c * base[k]) / (total + c);
        };
        shrink(0, 1.0, uniform.data());
        for (std::size_t u = 0; u < tree.size(); ++u) {
            if (tree[u].leaf()) continue;
            const auto child = static_cast<std::size_t>(tree[u].first);
            shrink(child, strength, p + u * width);
            shrink(child + 1, strength, p + u * width);
        }
    });
}

// Both sums go from the leaf to the root: with s = N + c, the node has the share N / s of what is
// left, and the share c / s goes on to the parent.
void sum_outcome_proba(const OutOfBag& data, std::span<const double> strengths, int n_threads,
                       std::span<double> total, std::span<double> weight) {
    const auto width = static_cast<std::size_t>(data.n_outcomes);
    const auto n_strengths = strengths.size();
    const auto ancestry = find_ancestry(data, n_threads);
    std::fill(total.begin(), total.end(), 0.0);
    std::fill(weight.begin(), weight.end(), 0.0);
    for_rows_out_of_bag(data.forest, data.rows, data.some, n_threads,
                        [&](std::int64_t i, std::int64_t t, std::int32_t node, double out) {
                            const auto start = static_cast<std::size_t>(data.forest.tree_start[t]);
                            const auto row = data.some[i];
                            const double own = data.own[row];
                            const auto y = static_cast<std::size_t>(data.rows.outcome[row]);
                            double left[kMaxStrengths];
                            std::fill_n(left, n_strengths, out);
                            auto* sum = total.data() + static_cast<std::size_t>(i) * n_strengths;
                            for (; node >= 0;
                                 node = ancestry.parent[start + static_cast<std::size_t>(node)]) {
                                const auto u = start + static_cast<std::size_t>(node);
                                const double others = std::max(ancestry.total[u] - own, 0.0);
                                const double same = std::max(data.counts[u * width + y] - own, 0.0);
                                for (std::size_t s = 0; s < n_strengths; ++s) {
                                    const double c = node == 0 ? 1.0 : strengths[s];
                                    const double part = left[s] / (others + c);
                                    sum[s] += part * same;
                                    left[s] = part * c;
                                }
                            }
                            for (std::size_t s = 0; s < n_strengths; ++s)
                                sum[s] += left[s] / static_cast<double>(width);
                            weight[i] += out;
                        });
}

void sum_out_of_bag(const OutOfBag& data, double strength, int n_threads, std::span<double> total,
                    std::span<double> weight) {
    const auto width = static_cast<std::size_t>(data.n_outcomes);
    const auto ancestry = find_ancestry(data, n_threads);
    std::fill(total.begin(), total.end(), 0.0);
    std::fill(weight.begin(), weight.end(), 0.0);
    for_rows_out_of_bag(
        data.forest, data.rows, data.some, n_threads,
        [&](std::int64_t i, std::int64_t t, std::int32_t node, double out) {
            const auto start = static_cast<std::size_t>(data.forest.tree_start[t]);
            const auto row = data.some[i];
            const double own = data.own[row];
            const auto y = static_cast<std::size_t>(data.rows.outcome[row]);
            double left = out;
            auto* sum = total.data() + static_cast<std::size_t>(i) * width;
            for (; node >= 0; node = ancestry.parent[start + static_cast<std::size_t>(node)]) {
                const auto u = start + static_cast<std::size_t>(node);
                const double c = node == 0 ? 1.0 : strength;
                const double part = left / (std::max(ancestry.total[u] - own, 0.0) + c);
                const auto* n = data.counts.data() + u * width;
                for (std::size_t k = 0; k < width; ++k) sum[k] += part * n[k];
                sum[y] -= part * std::min(own, n[y]);
                left = part * c;
            }
            for (std::size_t k = 0; k < width; ++k) sum[k] += left / static_cast<double>(width);
            weight[i] += out;
        });
}

void sum_leaf_rows(const ForestView& forest, const ForestRows& rows, std::span<const double> proba,
                   int n_threads, std::span<double> total, std::span<double> weight) {
    const auto width = proba.size() / forest.nodes.size();
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows.n_rows()));
    std::iota(all.begin(), all.end(), 0);
    std::fill(total.begin(), total.end(), 0.0);
    std::fill(weight.begin(), weight.end(), 0.0);
    for_rows_out_of_bag(forest, rows, all, n_threads,
                        [&](std::int64_t i, std::int64_t t, std::int32_t node, double out) {
                            const auto u = static_cast<std::size_t>(forest.tree_start[t] + node);
                            auto* sum = total.data() + static_cast<std::size_t>(i) * width;
                            for (std::size_t k = 0; k < width; ++k)
                                sum[k] += out * proba[u * width + k];
                            weight[i] += out;
                        });
}

}  // namespace priorwise
