#include "forest.hpp"
#include "grow_random.hpp"
#include "parallel.hpp"
#include "rng.hpp"

namespace priorwise {
namespace {

std::vector<ForestNode> pack(const GrownTree& tree) {
    constexpr auto bit = [](int place) { return 1 << place; };
    std::vector<ForestNode> nodes;
    nodes.reserve(tree.parent.size());
    for (std::size_t u = 0; u < tree.parent.size(); ++u) {
        nodes.push_back({0.0, static_cast<std::int32_t>(u), 0});
        if (u > 0 && tree.value[u] == 0) nodes[tree.parent[u]].first = static_cast<std::int32_t>(u);
        if (tree.feature[u] < 0) continue;
        auto second = bit(ForestNode::kEqualTo);
        if (static_cast<SplitKind>(tree.kind[u]) == SplitKind::kNumeric)
            second = bit(ForestNode::kGreater) |
                     (tree.missing_value[u] == kAbove ? bit(ForestNode::kUnordered) : 0);
        nodes[u].threshold = tree.threshold[u];
        nodes[u].split = tree.feature[u] << ForestNode::kPlaces | second;
    }
    return nodes;
}

}  // namespace

GrownForest grow_random_forest(const GrowthRows& rows, const GrowthRules& rules, double share,
                               std::span<const std::uint64_t> seeds, int n_threads) {
    const auto n_trees = seeds.size();
    const auto n_rows = static_cast<std::size_t>(rows.n_rows);
    double total = 0.0;
    std::vector<double> count_weight(n_rows);
    for (std::size_t r = 0; r < n_rows; ++r) {
        total += rows.growth(static_cast<std::int64_t>(r));
        count_weight[r] =
            rows.count_weight ? rows.count_weight[r] : rows.growth(static_cast<std::int64_t>(r));
    }
    const RandomGrowth growth(rows.features, rows.n_rows, total);
    GrownForest forest;
    forest.leaf.resize(n_trees * n_rows);
    forest.grew.resize(n_trees * n_rows);
    std::vector<std::vector<ForestNode>> nodes(n_trees);
    std::vector<std::vector<double>> gain(n_trees);
    parallel_for(static_cast<std::int64_t>(n_trees), n_threads, [&](std::int64_t t) {
        Rng rng(seeds[t]);
        std::vector<double> grow_weight(n_rows);
        bool any = false;
        for (std::size_t r = 0; r < n_rows; ++r) {
            const double weight = rows.growth(static_cast<std::int64_t>(r));
            grow_weight[r] = share >= 1.0 || rng.uniform() < share ? weight : 0.0;
            any = any || grow_weight[r] > 0.0;
        }
        for (std::size_t r = 0; !any && r < n_rows; ++r)
            grow_weight[r] = rows.growth(static_cast<std::int64_t>(r));
        GrowthRows part = rows;
        part.grow_weight = grow_weight.data();
        part.count_weight = count_weight.data();
        GrowthRules own_rules = rules;
        own_rules.seed = rng.bits();
        auto tree = growth.grow(part, own_rules);
        nodes[t] = pack(tree);
        gain[t] = std::move(tree.gain);
        std::copy(tree.leaf_of_row.begin(), tree.leaf_of_row.end(),
                  forest.leaf.begin() + static_cast<std::int64_t>(t * n_rows));
        for (std::size_t r = 0; r < n_rows; ++r) forest.grew[t * n_rows + r] = grow_weight[r] > 0.0;
    });
    forest.tree_start.push_back(0);
    for (const auto& tree : nodes)
        forest.tree_start.push_back(forest.tree_start.back() +
                                    static_cast<std::int64_t>(tree.size()));
    forest.nodes.reserve(static_cast<std::size_t>(forest.tree_start.back()));
    forest.gain.reserve(static_cast<std::size_t>(forest.tree_start.back()));
    for (std::size_t t = 0; t < n_trees; ++t) {
        forest.nodes.insert(forest.nodes.end(), nodes[t].begin(), nodes[t].end());
        forest.gain.insert(forest.gain.end(), gain[t].begin(), gain[t].end());
        std::vector<ForestNode>().swap(nodes[t]);
    }
    return forest;
}

}  // namespace priorwise
