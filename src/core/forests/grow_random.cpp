#include "forests/grow_random.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/parallel.hpp"
#include "common/rng.hpp"
#include "forests/forest.hpp"
#include "forests/random_grower.hpp"

namespace priorwise {
namespace {

// Number the nodes level by level.
RandomTree in_levels(GrowerContext&& context) {
    RandomTree tree{{}, {}, std::move(context.leaf_of_row)};
    std::vector<std::int32_t> old{0}, number(context.nodes.size());
    tree.nodes.reserve(context.nodes.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
        auto node = context.nodes[old[i]];
        number[old[i]] = static_cast<std::int32_t>(i);
        const auto first =
            std::exchange(node.first, static_cast<std::int32_t>(node.leaf() ? i : old.size()));
        if (!node.leaf()) old.insert(old.end(), {first, first + 1});
        tree.nodes.push_back(node);
        tree.gain.push_back(context.gain[old[i]]);
    }
    for (auto& leaf : tree.leaf_of_row)
        if (leaf >= 0) leaf = number[leaf];
    return tree;
}

template <class T>
void append(std::vector<T>& all, std::vector<T>& part) {
    all.insert(all.end(), part.begin(), part.end());
    std::vector<T>().swap(part);
}

}  // namespace

RandomGrowth::RandomGrowth(std::span<const Feature> features, std::int64_t n_rows,
                           double total_weight)
    : xlogx_(total_weight, n_rows, n_rows), has_missing_(features.size()) {
    for (std::size_t f = 0; f < features.size(); ++f)
        for (std::int64_t r = 0; !features[f].nominal() && r < n_rows && !has_missing_[f]; ++r)
            has_missing_[f] = std::isnan(features[f].number_at(r));
}

RandomTree RandomGrowth::grow(const GrowthRows& rows, const GrowthRules& rules) const {
    GrowerContext context{rules, xlogx_, has_missing_, Rng(rules.seed), {{}}, {0.0}, {}};
    context.leaf_of_row.assign(static_cast<std::size_t>(rows.n_rows), -1);
    std::vector<std::int32_t> order;
    order.reserve(static_cast<std::size_t>(rows.n_rows));
    bool unit = true, whole = true;
    double total = 0.0;
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        const double weight = rows.growth(r);
        if (weight > 0.0) order.push_back(static_cast<std::int32_t>(r));
        unit = unit && (weight == 0.0 || weight == 1.0);
        whole = whole && weight == std::floor(weight);
        total += weight;
    }
    const auto grow_end = static_cast<std::int64_t>(order.size());
    for (std::int64_t r = 0; r < rows.n_rows; ++r)
        if (rows.growth(r) <= 0.0 && rows.kept(r)) order.push_back(static_cast<std::int32_t>(r));
    const auto grow_by = [&](auto weight) {
        RandomGrower(context, rows.features, rows.outcome, rows.n_outcomes, weight, {})
            .grow(order, grow_end, 0, 0);
    };
    if (unit) {
        grow_by(UnitWeight{});
    } else if (whole && total < 0x1p31) {
        const std::vector<std::int32_t> weight(rows.grow_weight, rows.grow_weight + rows.n_rows);
        grow_by(WholeWeight{weight.data()});
    } else {
        grow_by(RealWeight{rows.grow_weight});
    }
    return in_levels(std::move(context));
}

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
