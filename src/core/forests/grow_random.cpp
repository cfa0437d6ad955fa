#include "forests/grow_random.hpp"

#include <cmath>
#include <utility>

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

}  // namespace

RandomGrowth::RandomGrowth(std::span<const Feature> features, std::int64_t n_rows,
                           double total_weight)
    : xlogx_(total_weight, n_rows), has_missing_(features.size()) {
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

}  // namespace priorwise
