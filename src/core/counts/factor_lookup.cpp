#include "counts/factor_lookup.hpp"

#include <array>
#include <limits>

#include "common/interrupt.hpp"
#include "counts/code_slots.hpp"

namespace priorwise {
namespace {

// Rows that take each step together, so that their waits for memory overlap.
constexpr std::int64_t kAtOnce = 512;

// Written so that compilers make no branch of it, which could not be predicted.
std::int32_t choose(bool first, std::int32_t a, std::int32_t b) {
    return b ^ ((a ^ b) & -static_cast<std::int32_t>(first));
}

// Codes that no list has become -1, for which there are slots too.
std::int32_t bounded(std::int32_t v, std::int32_t n_codes) {
    return static_cast<std::uint32_t>(v) < static_cast<std::uint32_t>(n_codes) ? v : -1;
}

}  // namespace

std::int64_t FactorLookup::size(const Factor& factor) {
    const auto n_cells = factor.dense ? 0 : factor.outcome.size();
    return static_cast<std::int64_t>(factor.value.size() + n_cells);
}

std::optional<FactorLookup> FactorLookup::build(const Factor& factor) {
    const auto contexts = CodeSlots::lay_out(factor.child_start, factor.value);
    if (!contexts) return std::nullopt;
    FactorLookup lookup;
    lookup.steps_.resize(contexts->slots.size());
    for (std::size_t at = 0; at < lookup.steps_.size(); ++at) {
        const auto [owner, child] = contexts->slots[at];
        if (owner >= 0) lookup.steps_[at] = {owner, child, contexts->shift[child]};
    }
    lookup.root_shift_ = contexts->shift[0];
    lookup.n_parent_codes_ = contexts->n_codes;
    lookup.log_uniform_ = -std::log(static_cast<double>(factor.n_outcomes));
    if (factor.dense) return lookup;
    if (factor.outcome.size() > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    const std::vector<std::int32_t> row_start(factor.row_start.begin(), factor.row_start.end());
    auto cells = CodeSlots::lay_out(row_start, factor.outcome);
    if (!cells) return std::nullopt;
    lookup.cells_.resize(cells->slots.size());
    for (std::size_t at = 0; at < lookup.cells_.size(); ++at) {
        const auto [owner, cell] = cells->slots[at];
        if (owner >= 0) lookup.cells_[at] = {owner, factor.log_p[cell]};
    }
    lookup.n_listed_codes_ = cells->n_codes;
    const auto n_nodes = static_cast<std::int32_t>(factor.parent.size());
    lookup.nodes_.resize(static_cast<std::size_t>(n_nodes) + 1);
    for (std::int32_t u = 0; u < n_nodes; ++u) {
        const bool empty = factor.row_start[u] == factor.row_start[u + 1];
        const bool backs_off = u > 0 && (factor.rest_towards_parent || empty);
        lookup.nodes_[u] = {factor.log_rest[u], cells->shift[u],
                            backs_off ? factor.parent[u] : n_nodes};
    }
    lookup.nodes_[n_nodes] = {0.0, static_cast<std::int32_t>(lookup.cells_.size()) + 1, n_nodes};
    lookup.cells_.resize(lookup.cells_.size() + lookup.n_listed_codes_ + 1,
                         {n_nodes, lookup.log_uniform_});
    return lookup;
}

void FactorLookup::step(Place& place, std::int32_t code) const {
    const auto& step = steps_[place.shift + bounded(code, n_parent_codes_)];
    // A context without such a child gets shift 1, at which there are no further steps.
    const bool taken = step.context == place.context;
    place = {taken ? step.child : place.context, taken ? step.shift : 1};
}

void FactorLookup::find_contexts(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                                 std::int32_t* context) const {
    std::array<std::int32_t, kAtOnce> shift;
    std::fill_n(context, n_rows, 0);
    std::fill_n(shift.data(), n_rows, root_shift_);
    for (const auto* column : factor.path) {
        const auto* codes = column + first;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            Place place{context[i], shift[i]};
            step(place, codes[i]);
            context[i] = place.context;
            shift[i] = place.shift;
        }
    }
}

void FactorLookup::add_dense(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                             const std::int32_t* context, double* joint) const {
    const std::int64_t n_classes = factor.n_classes, n_outcomes = factor.n_outcomes;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const auto x = factor.column[first + i];
        if (x < 0) continue;
        const auto* nodes = factor.class_nodes(context[i]);
        double* out = joint + (first + i) * n_classes;
        for (std::int64_t y = 0; y < n_classes; ++y)
            out[y] += nodes[y] < 0 ? log_uniform_ : factor.log_p[nodes[y] * n_outcomes + x];
    }
}

void FactorLookup::add_sparse(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                              const std::int32_t* context, double* joint) const {
    std::array<std::int32_t, kAtOnce> row, node, x, found_row;
    std::array<double, kAtOnce> sum, found;
    const std::int64_t n_classes = factor.n_classes;
    const auto uniform = static_cast<std::int32_t>(nodes_.size()) - 1;
    joint += first * n_classes;
    for (std::int64_t y = 0; y < n_classes; ++y, ++joint) {
        std::int64_t n_open = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto code = factor.column[first + i];
            const auto u = factor.class_nodes(context[i])[y];
            row[n_open] = static_cast<std::int32_t>(i);
            node[n_open] = choose(u < 0, uniform, u);
            x[n_open] = bounded(code, n_listed_codes_);
            sum[n_open] = 0.0;
            n_open += code >= 0;
        }
        // All go up a level at once; those that find their cell are done.
        while (n_open > 0) {
            std::int64_t n_kept = 0, n_found = 0;
            for (std::int64_t j = 0; j < n_open; ++j) {
                const auto at = nodes_[node[j]];
                const auto cell = cells_[at.shift + x[j]];
                const bool here = cell.node == node[j];
                const auto sum_j = sum[j];
                found_row[n_found] = row[j];
                found[n_found] = sum_j + cell.log_p;
                row[n_kept] = row[j];
                node[n_kept] = at.base;
                x[n_kept] = x[j];
                sum[n_kept] = sum_j + at.log_rest;
                n_found += here;
                n_kept += !here;
            }
            for (std::int64_t j = 0; j < n_found; ++j) joint[found_row[j] * n_classes] += found[j];
            n_open = n_kept;
        }
    }
}

void FactorLookup::add_row(const Factor& factor, std::int64_t row, std::int32_t context,
                           double* joint) const {
    if (factor.dense)
        add_dense(factor, row, 1, &context, joint);
    else
        add_sparse(factor, row, 1, &context, joint);
}

void FactorLookup::add_to(const Factor& factor, std::int64_t first, std::int64_t last,
                          double* joint) const {
    std::array<std::int32_t, kAtOnce> context;
    for (; first < last; first += kAtOnce) {
        poll_interrupt();
        const auto n_rows = std::min(kAtOnce, last - first);
        find_contexts(factor, first, n_rows, context.data());
        if (factor.dense)
            add_dense(factor, first, n_rows, context.data(), joint);
        else
            add_sparse(factor, first, n_rows, context.data(), joint);
    }
}

}  // namespace priorwise
