#include <algorithm>
#include <array>
#include <numeric>

#include "common/parallel.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 256;

// The weight of every outcome at every node of tree t (nodes x outcomes).
void count_tree(const ForestView& forest, const ForestRows& rows, std::int64_t t, double* counts) {
    const auto tree = forest.tree(t);
    const auto width = static_cast<std::size_t>(rows.n_outcomes);
    const auto first = static_cast<std::size_t>(t * rows.n_rows());
    std::fill_n(counts, tree.size() * width, 0.0);
    for (std::size_t r = 0; r < rows.outcome.size(); ++r) {
        const auto leaf = rows.leaf[first + r];
        if (leaf < 0 || (rows.out[first + r] && !rows.count_all)) continue;
        counts[static_cast<std::size_t>(leaf) * width +
               static_cast<std::size_t>(rows.outcome[r])] += rows.weight ? rows.weight[r] : 1.0;
    }
    // Children come after their parent.
    for (std::size_t u = tree.size(); u-- > 0;) {
        if (tree[u].leaf()) continue;
        const auto* child = counts + static_cast<std::size_t>(tree[u].first) * width;
        for (std::size_t k = 0; k < width; ++k)
            counts[u * width + k] += child[k] + child[width + k];
    }
}

// One tree: its counts, the parent of every node, -1 at the root, and the weight of every node.
struct CountedTree {
    std::vector<double> counts;
    std::vector<std::int32_t> parent;
    std::vector<double> total;

    void count(const ForestView& forest, const ForestRows& rows, std::int64_t t) {
        const auto tree = forest.tree(t);
        const auto width = static_cast<std::size_t>(rows.n_outcomes);
        counts.resize(tree.size() * width);
        total.resize(tree.size());
        parent.assign(tree.size(), -1);
        count_tree(forest, rows, t, counts.data());
        for (std::size_t u = 0; u < tree.size(); ++u) {
            const auto* row = counts.data() + u * width;
            total[u] = std::accumulate(row, row + width, 0.0);
            if (tree[u].leaf()) continue;
            for (const auto child : {tree[u].first, tree[u].first + 1})
                parent[static_cast<std::size_t>(child)] = static_cast<std::int32_t>(u);
        }
    }
};

// Call prepare(tree) for one tree after the other, and then body(place, tree, leaf) for the rows in
// `some` if they did not grow it: blocks of rows on threads.
template <class Prepare, class Body>
void for_rows_out_of_bag(const ForestView& forest, const ForestRows& rows,
                         std::span<const std::int64_t> some, int n_threads, Prepare&& prepare,
                         Body&& body) {
    const auto n_some = static_cast<std::int64_t>(some.size());
    const auto n_rows = rows.n_rows();
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        prepare(t);
        parallel_for((n_some + kBlock - 1) / kBlock, threads_for(64 * n_some, n_threads),
                     [&](std::int64_t block) {
                         const auto last = std::min(n_some, (block + 1) * kBlock);
                         for (auto i = block * kBlock; i < last; ++i) {
                             const auto cell = static_cast<std::size_t>(t * n_rows + some[i]);
                             if (rows.out[cell] && rows.leaf[cell] >= 0)
                                 body(i, t, rows.leaf[cell]);
                         }
                     });
    }
}

}  // namespace

void count_forest(const ForestView& forest, const ForestRows& rows, int n_threads,
                  std::span<double> counts) {
    parallel_for(forest.n_trees(), n_threads, [&](std::int64_t t) {
        count_tree(forest, rows, t, counts.data() + forest.tree_start[t] * rows.n_outcomes);
    });
}

void smooth_forest(const ForestView& forest, const ForestRows& rows, double strength, int n_threads,
                   std::span<float> proba) {
    const auto width = static_cast<std::size_t>(rows.n_outcomes);
    parallel_for(forest.n_trees(), n_threads, [&](std::int64_t t) {
        const auto tree = forest.tree(t);
        std::vector<double> p(tree.size() * width);
        count_tree(forest, rows, t, p.data());
        const std::vector<double> uniform(width, 1.0 / static_cast<double>(width));
        const auto shrink = [&](std::size_t u, double c, const double* base) {
            auto* n = p.data() + u * width;
            const double total = std::accumulate(n, n + width, 0.0);
            for (std::size_t k = 0; k < width; ++k) n[k] = (n[k] + c * base[k]) / (total + c);
        };
        shrink(0, 1.0, uniform.data());
        for (std::size_t u = 0; u < tree.size(); ++u) {
            if (tree[u].leaf()) continue;
            const auto child = static_cast<std::size_t>(tree[u].first);
            shrink(child, strength, p.data() + u * width);
            shrink(child + 1, strength, p.data() + u * width);
        }
        std::transform(p.begin(), p.end(), proba.begin() + forest.tree_start[t] * rows.n_outcomes,
                       [](double value) { return static_cast<float>(value); });
    });
}

PrunedForest prune_forest(const ForestView& forest, std::span<const double> weight, double least) {
    PrunedForest pruned{{0}, {}, std::vector<std::int32_t>(forest.nodes.size(), -1)};
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        const auto tree = forest.tree(t);
        const auto start = static_cast<std::size_t>(forest.tree_start[t]);
        auto* number = pruned.number.data() + start;
        std::int32_t next = 1;
        number[0] = 0;
        for (std::size_t u = 0; u < tree.size(); ++u) {
            const auto first = static_cast<std::size_t>(tree[u].first);
            // Below a split that is left out all nodes are its node.
            const bool there = u == 0 || number[u] >= 0;
            const auto own = there ? number[u] : -1 - number[u];
            const bool splits = there && !tree[u].leaf() && weight[start + u] >= least;
            if (there && splits)
                pruned.nodes.push_back({tree[u].threshold, next, tree[u].split});
            else if (there)
                pruned.nodes.push_back({weight[start + u], own, 0});
            if (tree[u].leaf()) continue;
            for (const auto child : {first, first + 1}) number[child] = splits ? next++ : -1 - own;
        }
        for (std::size_t u = 0; u < tree.size(); ++u)
            if (number[u] < 0) number[u] = -1 - number[u];
        pruned.tree_start.push_back(static_cast<std::int64_t>(pruned.nodes.size()));
    }
    pruned.nodes.shrink_to_fit();
    return pruned;
}

// Call add(tree, i, leaf, own weight, class) for every row that a tree did not grow from, with the
// counts of the tree, and count the trees of each row.
template <class Add>
void sum_counted_trees(const OutOfBag& data, int n_threads, std::span<double> total,
                       std::span<double> n_trees, Add&& add) {
    std::fill(total.begin(), total.end(), 0.0);
    std::fill(n_trees.begin(), n_trees.end(), 0.0);
    CountedTree tree;
    for_rows_out_of_bag(
        data.forest, data.rows, data.some, n_threads,
        [&](std::int64_t t) { tree.count(data.forest, data.rows, t); },
        [&](std::int64_t i, std::int64_t, std::int32_t node) {
            const auto row = data.some[i];
            add(tree, i, node, data.own[row], static_cast<std::size_t>(data.rows.outcome[row]));
            n_trees[i] += 1.0;
        });
}

// Both sums go from the leaf to the root: with s = N + c, the node has the share N / s of what is
// left, and the share c / s goes on to the parent.
void sum_outcome_proba(const OutOfBag& data, std::span<const double> strengths,
                       std::span<const double> leasts, int n_threads, std::span<double> total,
                       std::span<double> weight) {
    const auto width = static_cast<std::size_t>(data.rows.n_outcomes);
    const auto n_strengths = strengths.size(), n_leasts = leasts.size();
    sum_counted_trees(
        data, n_threads, total, weight,
        [&](const CountedTree& tree, std::int64_t i, std::int32_t node, double own, std::size_t y) {
            std::array<std::array<double, kMaxStrengths>, kMaxLeasts> left;
            for (auto& shares : left) shares.fill(1.0);
            auto* sums = total.data() + static_cast<std::size_t>(i) * n_leasts * n_strengths;
            // Where nodes split that weigh at least leasts[l], the node is there if l < n_there.
            std::size_t n_there = 0;
            for (auto u = static_cast<std::size_t>(node);; u = static_cast<std::size_t>(node)) {
                node = tree.parent[u];
                while (n_there < n_leasts &&
                       (node < 0 || tree.total[static_cast<std::size_t>(node)] >= leasts[n_there]))
                    ++n_there;
                const double others = std::max(tree.total[u] - own, 0.0);
                const double same = std::max(tree.counts[u * width + y] - own, 0.0);
                for (std::size_t s = 0; s < n_strengths; ++s) {
                    const double c = node < 0 ? 1.0 : strengths[s];
                    const double share = 1.0 / (others + c);
                    for (std::size_t l = 0; l < n_there; ++l) {
                        const double part = left[l][s] * share;
                        sums[l * n_strengths + s] += part * same;
                        left[l][s] = part * c;
                    }
                }
                if (node < 0) break;
            }
            for (std::size_t l = 0; l < n_leasts; ++l)
                for (std::size_t s = 0; s < n_strengths; ++s)
                    sums[l * n_strengths + s] += left[l][s] / static_cast<double>(width);
        });
}

void sum_out_of_bag(const OutOfBag& data, double strength, int n_threads, std::span<double> total,
                    std::span<double> weight) {
    const auto width = static_cast<std::size_t>(data.rows.n_outcomes);
    sum_counted_trees(
        data, n_threads, total, weight,
        [&](const CountedTree& tree, std::int64_t i, std::int32_t node, double own, std::size_t y) {
            double left = 1.0;
            auto* sum = total.data() + static_cast<std::size_t>(i) * width;
            for (; node >= 0; node = tree.parent[static_cast<std::size_t>(node)]) {
                const auto u = static_cast<std::size_t>(node);
                const double c = node == 0 ? 1.0 : strength;
                const double part = left / (std::max(tree.total[u] - own, 0.0) + c);
                const auto* n = tree.counts.data() + u * width;
                for (std::size_t k = 0; k < width; ++k) sum[k] += part * n[k];
                sum[y] -= part * std::min(own, n[y]);
                left = part * c;
            }
            for (std::size_t k = 0; k < width; ++k) sum[k] += left / static_cast<double>(width);
        });
}

void sum_leaf_rows(const ForestView& forest, const ForestRows& rows, std::span<const float> proba,
                   int n_threads, std::span<double> total, std::span<double> weight) {
    const auto width = proba.size() / forest.nodes.size();
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows.n_rows()));
    std::iota(all.begin(), all.end(), 0);
    std::fill(total.begin(), total.end(), 0.0);
    std::fill(weight.begin(), weight.end(), 0.0);
    for_rows_out_of_bag(
        forest, rows, all, n_threads, [](std::int64_t) {},
        [&](std::int64_t i, std::int64_t t, std::int32_t node) {
            const auto u = static_cast<std::size_t>(forest.tree_start[t] + node);
            auto* sum = total.data() + static_cast<std::size_t>(i) * width;
            for (std::size_t k = 0; k < width; ++k) sum[k] += proba[u * width + k];
            weight[i] += 1.0;
        });
}

}  // namespace priorwise
