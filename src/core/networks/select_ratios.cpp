#include "networks/select_ratios.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 8192;  // rows at once: the tables of a factor are loaded once
constexpr std::int64_t kMaxTable = std::int64_t{1} << 18;  // ratios of one factor and depth

bool all_below(const std::int32_t* codes, std::int64_t n_rows, std::int32_t arity) {
    bool inside = true;
    for (std::int64_t r = 0; r < n_rows; ++r) inside &= codes[r] >= 0 && codes[r] < arity;
    return inside;
}

}  // namespace

std::optional<RatioTables> RatioTables::build(const PrefixSelection& selection) {
    const auto& count = selection.class_count;
    if (selection.row_weight || count.size() < 2) return std::nullopt;
    if (count.size() * count.size() > kMaxTable) return std::nullopt;
    RatioTables tables(selection);
    for (std::size_t y = 0; y < count.size(); ++y) {
        const double own = count[y] - 1.0;
        for (std::size_t c = 0; c < count.size(); ++c) {
            if (c == y) continue;
            // No row has a class without rows.
            if (own <= 0.0 && count[y] >= 1.0) return std::nullopt;
            tables.prior_.push_back(own > 0.0 ? count[c] / own : 1.0);
        }
    }
    for (std::size_t f = 0; f < selection.factors.size(); ++f)
        if (!tables.add_factor(f)) return std::nullopt;
    return tables;
}

bool RatioTables::add_factor(std::size_t f) {
    const auto& factor = selection_.factors[f];
    const auto& shrinkage = selection_.shrinkage[f];
    if (!factor.dense) return false;
    const std::int64_t n_classes = factor.n_classes, n_others = n_classes - 1;
    const std::int64_t n_outcomes = factor.n_outcomes;
    // The arity of a parent: one more than the largest value that a context has.
    struct Place {
        std::int32_t context;
        std::int64_t number;
    };
    std::vector<Place> level{{0, 0}};
    std::int64_t n_contexts = 1;
    std::vector<std::int32_t> arities;
    std::vector<std::vector<double>> by_depth;
    for (std::size_t depth = 0;; ++depth) {
        if (n_contexts * n_outcomes * n_classes * n_others > kMaxTable) return false;
        const auto row = n_outcomes * n_classes * n_others;
        std::vector<double> table(n_contexts * row, 1.0);
        // A context that does not occur, because it was merged away, backs off.
        if (depth > 0)
            for (std::int64_t context = 0; context < n_contexts; ++context)
                std::copy_n(by_depth.back().data() + context / arities.back() * row, row,
                            table.data() + context * row);
        for (const auto& place : level) {
            const auto* nodes = factor.class_nodes(place.context);
            for (std::int32_t x = 0; x < n_outcomes; ++x) {
                const double change =
                    shrinkage.towards_parent ? shrinkage.left_out[x] - shrinkage.p[x] : 0.0;
                double* ratio = table.data() + place.number * row + x * n_classes * n_others;
                for (std::int64_t y = 0; y < n_classes; ++y) {
                    const auto own_cell = factor.find_cell(nodes[y], x);
                    const double own = shrinkage.left_out[own_cell];
                    const bool occurs = shrinkage.counts[own_cell] >= 1.0;
                    for (std::int64_t c = 0; c < n_classes; ++c) {
                        if (c == y) continue;
                        const double whole = shrinkage.p[factor.find_cell(nodes[c], x)];
                        const double other = whole + shrinkage.root_share[nodes[c]] * change;
                        if (occurs && (own <= 0.0 || other <= 0.0)) return false;
                        *ratio++ = occurs ? other / own : 1.0;
                    }
                }
            }
        }
        by_depth.push_back(std::move(table));
        if (depth == factor.path.size()) break;
        std::int32_t arity = 1;
        for (const auto& place : level)
            for (auto child = factor.child_start[place.context];
                 child < factor.child_start[place.context + 1]; ++child)
                arity = std::max(arity, factor.value[child] + 1);
        std::vector<Place> next;
        for (const auto& place : level)
            for (auto child = factor.child_start[place.context];
                 child < factor.child_start[place.context + 1]; ++child)
                next.push_back({child, place.number * arity + factor.value[child]});
        arities.push_back(arity);
        n_contexts *= arity;
        level = std::move(next);
    }
    tables_.push_back(std::move(by_depth));
    arities_.push_back(std::move(arities));
    return true;
}

bool RatioTables::cover(std::int64_t n_rows) const {
    bool inside =
        all_below(selection_.y, n_rows, static_cast<std::int32_t>(selection_.class_count.size()));
    for (std::size_t f = 0; inside && f < tables_.size(); ++f) {
        const auto& factor = selection_.factors[f];
        inside = all_below(factor.column, n_rows, factor.n_outcomes);
        for (std::size_t level = 0; inside && level < factor.path.size(); ++level)
            inside = all_below(factor.path[level], n_rows, arities_[f][level]);
    }
    return inside;
}

void RatioTables::add_losses(std::int64_t first, std::int64_t last,
                             std::span<LossSum> losses) const {
    const auto n_others = static_cast<std::int64_t>(selection_.class_count.size()) - 1;
    std::vector<double> ratio(
        static_cast<std::size_t>((selection_.max_parents + 1) * kBlock * n_others));
    for (auto row = first; row < last; row += kBlock)
        add_block(row, std::min(last, row + kBlock), losses, ratio);
}

// ratio[(depth * others + c) * kBlock + row]
void RatioTables::add_block(std::int64_t first, std::int64_t last, std::span<LossSum> losses,
                            std::span<double> ratio) const {
    const auto n_rows = last - first;
    const auto n_classes = static_cast<std::int64_t>(selection_.class_count.size());
    const auto n_others = n_classes - 1;
    const auto n_depths = selection_.max_parents + 1;
    const auto n_sums = selection_.factors.size() + 1;
    const auto* y = selection_.y + first;
    for (std::int64_t depth = 0; depth < n_depths; ++depth) {
        double* of_depth = ratio.data() + depth * n_others * kBlock;
        for (std::int64_t c = 0; c < n_others; ++c)
            for (std::int64_t r = 0; r < n_rows; ++r)
                of_depth[c * kBlock + r] = prior_[y[r] * n_others + c];
        losses[depth * n_sums].add(sum_losses(of_depth, n_rows));
    }
    std::array<std::int32_t, kBlock> context, cell;
    for (std::size_t f = 0; f < selection_.factors.size(); ++f) {
        poll_interrupt();
        const auto& factor = selection_.factors[f];
        const auto* x = factor.column + first;
        const auto n_outcomes = factor.n_outcomes;
        std::fill_n(context.begin(), n_rows, 0);
        for (std::int64_t depth = 0; depth < n_depths; ++depth) {
            // Deeper levels than the factor has repeat its deepest.
            const auto level = std::min<std::int64_t>(depth, std::ssize(factor.path));
            if (level == depth) {
                if (depth > 0) {
                    const auto* v = factor.path[depth - 1] + first;
                    const auto arity = arities_[f][depth - 1];
                    for (std::int64_t r = 0; r < n_rows; ++r)
                        context[r] = context[r] * arity + v[r];
                }
                for (std::int64_t r = 0; r < n_rows; ++r)
                    cell[r] = static_cast<std::int32_t>(
                        ((context[r] * n_outcomes + x[r]) * n_classes + y[r]) * n_others);
            }
            const double* table = tables_[f][level].data();
            double* of_depth = ratio.data() + depth * n_others * kBlock;
            for (std::int64_t c = 0; c < n_others; ++c)
                for (std::int64_t r = 0; r < n_rows; ++r)
                    of_depth[c * kBlock + r] *= table[cell[r] + c];
            losses[depth * n_sums + f + 1].add(sum_losses(of_depth, n_rows));
        }
    }
}

LossSum RatioTables::sum_losses(const double* ratio, std::int64_t n_rows) const {
    const auto n_others = static_cast<std::int64_t>(selection_.class_count.size()) - 1;
    std::array<double, kBlock> others;
    std::copy_n(ratio, n_rows, others.begin());
    for (std::int64_t c = 1; c < n_others; ++c)
        for (std::int64_t r = 0; r < n_rows; ++r) others[r] += ratio[c * kBlock + r];
    LossSum sum;
    if (selection_.loss == SelectionLoss::kLog) {
        for (std::int64_t r = 0; r < n_rows; ++r)
            sum.add(std::min(std::log1p(others[r]), kMaxLogLoss));
    } else {
        for (std::int64_t r = 0; r < n_rows; ++r) {
            const double miss = 1.0 - 1.0 / (1.0 + others[r]);
            sum.add(miss * miss);
        }
    }
    return sum;
}

}  // namespace priorwise
