#include "networks/select_ratios.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 8192;  // rows at once: the tables of a factor are loaded once
constexpr std::int64_t kMaxTable = std::int64_t{1} << 18;  // ratios of one factor and depth
constexpr double kLargest = 1e300;  // of the ratios in a table: a ratio of zero stays zero

// Adding this number rounds a number below 2^51 to a whole one, in the low bits of the sum.
constexpr double kRounding = 6755399441055744.0;  // 1.5 * 2^52

struct Range {
    std::int32_t least = 0, most = 0;
};

Range range_of(const std::int32_t* codes, std::int64_t n_rows) {
    Range range;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        range.least = std::min(range.least, codes[r]);
        range.most = std::max(range.most, codes[r]);
    }
    return range;
}

// The squared loss of a row whose other classes together have `others` times its own probability,
// in units of 2^-32, in the low bits of the result.
std::uint64_t squared_loss(double others) {
    constexpr double kRoot = 65536.0;  // of the unit
    const double miss = kRoot - kRoot / (1.0 + others);
    return std::bit_cast<std::uint64_t>(miss * miss + kRounding);
}
static_assert(kLossUnit == 65536.0 * 65536.0);

LossSum to_sum(std::uint64_t sum_of_bits, std::int64_t n_rows) {
    const auto units = static_cast<std::int64_t>(
        sum_of_bits - static_cast<std::uint64_t>(n_rows) * std::bit_cast<std::uint64_t>(kRounding));
    return {units >> 16, units & 0xFFFF};
}

// Multiplies each row's ratio by that of its cell; returns the sum of their squared losses. One
// loop without branches, so that compilers use wide instructions.
LossSum multiply_and_sum(double* __restrict ratio, const double* __restrict table,
                         const std::int32_t* __restrict cell, std::int64_t n_rows) {
    std::uint64_t sum = 0;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const double product = ratio[r] * table[cell[r]];
        ratio[r] = product;
        sum += squared_loss(product);
    }
    return to_sum(sum, n_rows);
}

void multiply(double* __restrict ratio, const double* __restrict table,
              const std::int32_t* __restrict cell, std::int64_t n_rows) {
    for (std::int64_t r = 0; r < n_rows; ++r) ratio[r] *= table[cell[r]];
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
    std::vector<double> change(n_outcomes, 0.0);  // of the root's estimates by the row left out
    if (shrinkage.towards_parent)
        for (std::int64_t x = 0; x < n_outcomes; ++x)
            change[x] = shrinkage.left_out[x] - shrinkage.p[x];
    std::vector<Place> level{{0, 0}};
    std::int64_t n_contexts = 1;
    std::vector<std::int32_t> arities;
    std::vector<std::vector<double>> by_depth;
    for (std::size_t depth = 0;; ++depth) {
        if (n_contexts * n_outcomes * n_classes * n_others > kMaxTable) return false;
        std::vector<double> table(n_contexts * n_outcomes * n_classes * n_others, 1.0);
        // A context that does not occur, because it was merged away, backs off.
        if (std::ssize(level) < n_contexts) {
            const auto n_above = n_contexts / arities.back();
            for (std::int64_t context = 0; context < n_others * n_classes * n_contexts; ++context) {
                const auto above =
                    context / n_contexts * n_above + context % n_contexts / arities.back();
                std::copy_n(by_depth.back().data() + above * n_outcomes, n_outcomes,
                            table.data() + context * n_outcomes);
            }
        }
        for (const auto& place : level) {
            const auto* nodes = factor.class_nodes(place.context);
            for (std::int64_t y = 0; y < n_classes; ++y) {
                const auto own_cell = factor.find_cell(nodes[y], 0);
                double* ratio = table.data() + (y * n_contexts + place.number) * n_outcomes;
                for (std::int64_t c = 0; c < n_classes; ++c) {
                    if (c == y) continue;
                    const auto other_cell = factor.find_cell(nodes[c], 0);
                    const double share = shrinkage.root_share[nodes[c]];
                    for (std::int64_t x = 0; x < n_outcomes; ++x) {
                        const double own = shrinkage.left_out[own_cell + x];
                        const double other = shrinkage.p[other_cell + x] + share * change[x];
                        const bool occurs = shrinkage.counts[own_cell + x] >= 1.0;
                        ratio[x] = occurs ? other / own : 1.0;
                        if (!(ratio[x] > 0.0 && ratio[x] < kLargest)) return false;
                    }
                    ratio += n_classes * n_contexts * n_outcomes;
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
    std::map<const std::int32_t*, Range> ranges;  // of columns: each is the parent of several
    const auto is_below = [&](const std::int32_t* codes, std::int32_t arity) {
        const auto [place, is_new] = ranges.try_emplace(codes);
        if (is_new) place->second = range_of(codes, n_rows);
        return place->second.least >= 0 && place->second.most < arity;
    };
    if (!is_below(selection_.y, static_cast<std::int32_t>(selection_.class_count.size())))
        return false;
    for (std::size_t f = 0; f < tables_.size(); ++f) {
        const auto& factor = selection_.factors[f];
        if (!is_below(factor.column, factor.n_outcomes)) return false;
        for (std::size_t level = 0; level < factor.path.size(); ++level)
            if (!is_below(factor.path[level], arities_[f][level])) return false;
    }
    return true;
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
    const bool is_single = n_others == 1 && selection_.loss == SelectionLoss::kSquared;
    std::array<std::int32_t, kBlock> context, cell;
    for (std::size_t f = 0; f < selection_.factors.size(); ++f) {
        poll_interrupt();
        const auto& factor = selection_.factors[f];
        const auto* x = factor.column + first;
        const auto n_outcomes = factor.n_outcomes;
        for (std::int64_t depth = 0; depth < n_depths; ++depth) {
            // Deeper levels than the factor has repeat its deepest.
            const auto level = std::min<std::int64_t>(depth, std::ssize(factor.path));
            if (depth == 0) {
                for (std::int64_t r = 0; r < n_rows; ++r) cell[r] = y[r] * n_outcomes + x[r];
            } else if (level == depth) {
                const auto* above = depth == 1 ? y : context.data();
                const auto* v = factor.path[depth - 1] + first;
                const auto arity = arities_[f][depth - 1];
                for (std::int64_t r = 0; r < n_rows; ++r) {
                    context[r] = above[r] * arity + v[r];
                    cell[r] = context[r] * n_outcomes + x[r];
                }
            }
            const auto& table = tables_[f][level];
            const auto n_cells = std::ssize(table) / n_others;
            double* of_depth = ratio.data() + depth * n_others * kBlock;
            auto& sum = losses[depth * n_sums + f + 1];
            if (is_single) {
                sum.add(multiply_and_sum(of_depth, table.data(), cell.data(), n_rows));
                continue;
            }
            for (std::int64_t c = 0; c < n_others; ++c)
                multiply(of_depth + c * kBlock, table.data() + c * n_cells, cell.data(), n_rows);
            sum.add(sum_losses(of_depth, n_rows));
        }
    }
}

LossSum RatioTables::sum_losses(const double* ratio, std::int64_t n_rows) const {
    const auto n_others = static_cast<std::int64_t>(selection_.class_count.size()) - 1;
    std::array<double, kBlock> others;
    std::copy_n(ratio, n_rows, others.begin());
    for (std::int64_t c = 1; c < n_others; ++c)
        for (std::int64_t r = 0; r < n_rows; ++r) others[r] += ratio[c * kBlock + r];
    if (selection_.loss == SelectionLoss::kSquared) {
        std::uint64_t sum = 0;
        for (std::int64_t r = 0; r < n_rows; ++r) sum += squared_loss(others[r]);
        return to_sum(sum, n_rows);
    }
    LossSum sum;
    for (std::int64_t r = 0; r < n_rows; ++r) sum.add(std::min(std::log1p(others[r]), kMaxLogLoss));
    return sum;
}

}  // namespace priorwise
