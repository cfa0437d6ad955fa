#include "networks/select_prefix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// Rows at once, for which the tables of a factor are loaded once; fewer if a row has many ratios.
constexpr std::int64_t kLeastBlock = 1 << 10, kMostBlock = 1 << 15, kMostRatios = 1 << 19;
constexpr std::int64_t kSummed = 1 << 10;                  // rows whose ratios are summed at once
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

// One more parent of a factor, or the feature itself: the digit that it appends to the rows' cells.
struct Digit {
    const std::int32_t* codes;
    std::int32_t arity;
    const double* table;  // the ratios of the cells that have this digit last
    double* ratio;        // of the rows
};

// Appends digits to the rows' cells, multiplies the ratios of each depth by those of the cells and
// adds the squared losses to the sums. Loops without branches, so that compilers use wide
// instructions, and divisions, which take longest, overlap with all else.
void multiply_and_sum(const Digit& digit, std::int32_t* __restrict cell, std::int64_t n_rows,
                      LossSum& sum) {
    const std::int32_t* __restrict codes = digit.codes;
    const double* __restrict table = digit.table;
    double* __restrict ratio = digit.ratio;
    const auto arity = digit.arity;
    std::uint64_t bits = 0;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const auto place = cell[r] * arity + codes[r];
        cell[r] = place;
        const double product = ratio[r] * table[place];
        ratio[r] = product;
        bits += squared_loss(product);
    }
    sum.add(to_sum(bits, n_rows));
}

void multiply_two(const std::int32_t* __restrict codes0, const std::int32_t* __restrict codes1,
                  std::int32_t arity0, std::int32_t arity1, const double* __restrict table0,
                  const double* __restrict table1, double* __restrict ratio0,
                  double* __restrict ratio1, std::int32_t* __restrict cell, std::int64_t n_rows,
                  LossSum& sum0, LossSum& sum1) {
    std::uint64_t bits0 = 0, bits1 = 0;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const auto place0 = cell[r] * arity0 + codes0[r];
        const auto place1 = place0 * arity1 + codes1[r];
        cell[r] = place1;
        const double product0 = ratio0[r] * table0[place0];
        const double product1 = ratio1[r] * table1[place1];
        ratio0[r] = product0;
        ratio1[r] = product1;
        bits0 += squared_loss(product0);
        bits1 += squared_loss(product1);
    }
    sum0.add(to_sum(bits0, n_rows));
    sum1.add(to_sum(bits1, n_rows));
}

void append_digit(std::int32_t* __restrict cell, const Digit& digit, std::int64_t n_rows) {
    for (std::int64_t r = 0; r < n_rows; ++r) cell[r] = cell[r] * digit.arity + digit.codes[r];
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
    RatioTables tables;
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
        if (!tables.add_factor(selection.factors[f], selection.shrinkage[f])) return std::nullopt;
    return tables;
}

bool RatioTables::add_factor(const Factor& factor, const Shrinkage& shrinkage) {
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
        if (std::ssize(level) < n_contexts)
            for (std::size_t cell = 0; cell < table.size(); ++cell)
                table[cell] = by_depth.back()[cell / static_cast<std::size_t>(arities.back())];
        for (const auto& place : level) {
            const auto* nodes = factor.class_nodes(place.context);
            for (std::int64_t y = 0; y < n_classes; ++y) {
                const auto own_cell = factor.find_cell(nodes[y], 0);
                double* ratio = table.data() + y * n_outcomes * n_contexts + place.number;
                for (std::int64_t c = 0; c < n_classes; ++c) {
                    if (c == y) continue;
                    const auto other_cell = factor.find_cell(nodes[c], 0);
                    const double share = shrinkage.root_share[nodes[c]];
                    for (std::int64_t x = 0; x < n_outcomes; ++x) {
                        const double own = shrinkage.left_out[own_cell + x];
                        const double other = shrinkage.p[other_cell + x] + share * change[x];
                        const bool occurs = shrinkage.counts[own_cell + x] >= 1.0;
                        const double value = occurs ? other / own : 1.0;
                        if (!(value > 0.0 && value < kLargest)) return false;
                        ratio[x * n_contexts] = value;
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

bool RatioTables::cover(const PrefixSelection& selection, std::int64_t n_rows) const {
    std::map<const std::int32_t*, Range> ranges;  // of columns: each is the parent of several
    const auto is_below = [&](const std::int32_t* codes, std::int32_t arity) {
        const auto [place, is_new] = ranges.try_emplace(codes);
        if (is_new) place->second = range_of(codes, n_rows);
        return place->second.least >= 0 && place->second.most < arity;
    };
    if (!is_below(selection.y, static_cast<std::int32_t>(selection.class_count.size())))
        return false;
    for (std::size_t f = 0; f < tables_.size(); ++f) {
        const auto& factor = selection.factors[f];
        if (!is_below(factor.column, factor.n_outcomes)) return false;
        for (std::size_t level = 0; level < factor.path.size(); ++level)
            if (!is_below(factor.path[level], arities_[f][level])) return false;
    }
    return true;
}

void RatioTables::add_losses(const PrefixSelection& selection, std::int64_t first,
                             std::int64_t last, std::span<LossSum> losses) const {
    const auto n_others = static_cast<std::int64_t>(selection.class_count.size()) - 1;
    const auto n_ratios = (selection.max_parents + 1) * n_others;
    const auto size = std::clamp(kMostRatios / n_ratios, kLeastBlock, kMostBlock);
    const auto n = static_cast<std::size_t>(std::min(size, last - first));
    Block block{std::vector<double>(n * n_ratios), std::vector<std::int32_t>(n),
                std::vector<std::int32_t>(n, 0)};
    for (auto row = first; row < last; row += size)
        add_block(selection, row, std::min(last, row + size), losses, block);
}

void RatioTables::add_block(const PrefixSelection& selection, std::int64_t first, std::int64_t last,
                            std::span<LossSum> losses, Block& block) const {
    const auto n_rows = last - first, stride = std::ssize(block.cell);
    const auto n_classes = static_cast<std::int64_t>(selection.class_count.size());
    const auto n_others = n_classes - 1;
    const auto n_depths = selection.max_parents + 1;
    const auto n_sums = selection.factors.size() + 1;
    const auto* y = selection.y + first;
    for (std::int64_t depth = 0; depth < n_depths; ++depth) {
        double* of_depth = block.ratio.data() + depth * n_others * stride;
        for (std::int64_t c = 0; c < n_others; ++c)
            for (std::int64_t r = 0; r < n_rows; ++r)
                of_depth[c * stride + r] = prior_[y[r] * n_others + c];
        losses[depth * n_sums].add(sum_losses(selection, of_depth, stride, n_rows));
    }
    const bool is_single = n_others == 1 && selection.loss == SelectionLoss::kSquared;
    for (std::size_t f = 0; f < selection.factors.size(); ++f) {
        poll_interrupt();
        const auto& factor = selection.factors[f];
        // Deeper levels than the factor has repeat its deepest.
        const auto digit_of = [&](std::int64_t depth) -> Digit {
            double* of_depth = block.ratio.data() + depth * n_others * stride;
            const auto n_levels = std::ssize(factor.path);
            const auto& table = tables_[f][std::min(depth, n_levels)];
            if (depth == 0)
                return {factor.column + first, factor.n_outcomes, table.data(), of_depth};
            if (depth > n_levels) return {block.no_digit.data(), 1, table.data(), of_depth};
            return {factor.path[depth - 1] + first, arities_[f][depth - 1], table.data(), of_depth};
        };
        const auto sum_of = [&](std::int64_t depth) { return &losses[depth * n_sums + f + 1]; };
        std::copy_n(y, n_rows, block.cell.begin());
        for (std::int64_t depth = 0; depth < n_depths; ++depth) {
            if (is_single && depth + 1 < n_depths) {
                const auto a = digit_of(depth), b = digit_of(depth + 1);
                multiply_two(a.codes, b.codes, a.arity, b.arity, a.table, b.table, a.ratio, b.ratio,
                             block.cell.data(), n_rows, *sum_of(depth), *sum_of(depth + 1));
                ++depth;
                continue;
            }
            const auto digit = digit_of(depth);
            if (is_single) {
                multiply_and_sum(digit, block.cell.data(), n_rows, *sum_of(depth));
                continue;
            }
            append_digit(block.cell.data(), digit, n_rows);
            const auto n_cells =
                std::ssize(tables_[f][std::min(depth, std::ssize(factor.path))]) / n_others;
            for (std::int64_t c = 0; c < n_others; ++c)
                multiply(digit.ratio + c * stride, digit.table + c * n_cells, block.cell.data(),
                         n_rows);
            sum_of(depth)->add(sum_losses(selection, digit.ratio, stride, n_rows));
        }
    }
}

LossSum RatioTables::sum_losses(const PrefixSelection& selection, const double* ratio,
                                std::int64_t stride, std::int64_t n_rows) const {
    const auto n_others = static_cast<std::int64_t>(selection.class_count.size()) - 1;
    LossSum sum;
    std::array<double, kSummed> others;
    for (std::int64_t first = 0; first < n_rows; first += kSummed) {
        const auto n = std::min(kSummed, n_rows - first);
        std::copy_n(ratio + first, n, others.begin());
        for (std::int64_t c = 1; c < n_others; ++c)
            for (std::int64_t r = 0; r < n; ++r) others[r] += ratio[c * stride + first + r];
        if (selection.loss == SelectionLoss::kSquared) {
            std::uint64_t bits = 0;
            for (std::int64_t r = 0; r < n; ++r) bits += squared_loss(others[r]);
            sum.add(to_sum(bits, n));
        } else {
            for (std::int64_t r = 0; r < n; ++r)
                sum.add(std::min(std::log1p(others[r]), kMaxLogLoss));
        }
    }
    return sum;
}

}  // namespace priorwise
