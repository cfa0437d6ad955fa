#include <algorithm>
#include <utility>

#include "common/parallel.hpp"
#include "common/rng.hpp"
#include "forests/forest.hpp"
#include "forests/grow_random.hpp"

namespace priorwise {
namespace {

template <class T>
void append(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    std::vector<T>().swap(part);
}

}  // namespace

GrownForest grow_random_forest(const GrowthRows& rows, const GrowthRules& rules, double share,
                               std::span<const std::uint64_t> seeds, int n_threads) {
    const auto n_trees = seeds.size();
    const auto n_rows = static_cast<std::size_t>(rows.n_rows);
    std::vector<double> growing(n_rows), counting(n_rows);
    double total = 0.0;
    for (std::size_t r = 0; r < n_rows; ++r) {
        growing[r] = rows.growth(static_cast<std::int64_t>(r));
        counting[r] = rows.count_weight ? rows.count_weight[r] : growing[r];
        total += growing[r];
    }
    const auto n_groups = rows.group.empty()
                              ? std::size_t{0}
                              : static_cast<std::size_t>(std::ranges::max(rows.group)) + 1;
    const RandomGrowth growth(rows.features, rows.n_rows, total);
    GrownForest forest;
    forest.leaf.resize(n_trees * n_rows);
    forest.out.resize(n_trees * n_rows);
    std::vector<std::vector<ForestNode>> nodes(n_trees);
    std::vector<std::vector<double>> gain(n_trees);
    parallel_for(static_cast<std::int64_t>(n_trees), n_threads, [&](std::int64_t t) {
        Rng rng(seeds[t]);
        std::vector<double> drawn(growing);
        if (share < 1.0 && rows.group.empty())
            for (auto& weight : drawn)
                if (rng.uniform() >= share) weight = 0.0;
        if (share < 1.0 && !rows.group.empty()) {
            std::vector<char> grows(n_groups);
            for (auto& one : grows) one = rng.uniform() < share;
            for (std::size_t r = 0; r < n_rows; ++r)
                if (!grows[static_cast<std::size_t>(rows.group[r])]) drawn[r] = 0.0;
        }
        if (std::ranges::none_of(drawn, [](double weight) { return weight > 0.0; }))
            drawn = growing;
        GrowthRows part = rows;
        part.grow_weight = drawn.data();
        part.count_weight = counting.data();
        GrowthRules own_rules = rules;
        own_rules.seed = rng.bits();
        auto tree = growth.grow(part, own_rules);
        nodes[t] = std::move(tree.nodes);
        gain[t] = std::move(tree.gain);
        const auto first = static_cast<std::size_t>(t) * n_rows;
        std::ranges::copy(tree.leaf_of_row, forest.leaf.data() + first);
        for (std::size_t r = 0; r < n_rows; ++r)
            forest.out[first + r] = drawn[r] > 0.0 || counting[r] <= 0.0 ? 0 : 1;
    });
    forest.tree_start.push_back(0);
    for (const auto& tree : nodes)
        forest.tree_start.push_back(forest.tree_start.back() +
                                    static_cast<std::int64_t>(tree.size()));
    const auto n_nodes = static_cast<std::size_t>(forest.tree_start.back());
    forest.nodes.reserve(n_nodes);
    forest.gain.reserve(n_nodes);
    for (std::size_t t = 0; t < n_trees; ++t) {
        append(forest.nodes, nodes[t]);
        append(forest.gain, gain[t]);
    }
    return forest;
}

}  // namespace priorwise
