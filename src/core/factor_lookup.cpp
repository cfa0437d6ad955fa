#include "factor_lookup.hpp"

#include <array>
#include <limits>

#include "code_slots.hpp"

namespace priorwise {
namespace {

// Rows that go down together: what they wait for from memory comes at once.
constexpr std::int64_t kAtOnce = 512;

std::int32_t bounded(std::int32_t v, std::int32_t n_codes) {
    return static_cast<std::uint32_t>(v) < static_cast<std::uint32_t>(n_codes) ? v : -1;
}

}  // namespace

bool FactorLookup::pays(const Factor& factor, std::int64_t n_rows) {
    const auto n_cells = factor.dense ? 0 : factor.outcome.size();
    return n_rows > static_cast<std::int64_t>(factor.value.size() + n_cells);
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
    lookup.nodes_.resize(factor.parent.size());
    for (std::size_t u = 0; u < lookup.nodes_.size(); ++u) {
        const bool empty = factor.row_start[u] == factor.row_start[u + 1];
        const bool backs_off = u > 0 && (factor.rest_towards_parent || empty);
        lookup.nodes_[u] = {factor.log_rest[u], cells->shift[u], backs_off ? factor.parent[u] : -1};
    }
    return lookup;
}

void FactorLookup::find_contexts(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                                 std::int32_t* context) const {
    std::array<std::int32_t, kAtOnce> shift;
    std::fill_n(context, n_rows, 0);
    std::fill_n(shift.data(), n_rows, root_shift_);
    for (const auto* column : factor.path) {
        const auto* codes = column + first;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto& step = steps_[shift[i] + bounded(codes[i], n_parent_codes_)];
            // From a context without such a child no step is taken any more: shift 1 has none.
            const bool taken = step.context == context[i];
            context[i] = taken ? step.child : context[i];
            shift[i] = taken ? step.shift : 1;
        }
    }
}

void FactorLookup::add_dense(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                             const std::int32_t* context, double* joint) const {
    const std::int64_t n_classes = factor.n_classes, n_outcomes = factor.n_outcomes;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const auto x = factor.column[first + i];
        if (x < 0) continue;
        const auto* nodes = factor.node.data() + context[i] * n_classes;
        double* out = joint + (first + i) * n_classes;
        for (std::int64_t y = 0; y < n_classes; ++y)
            out[y] += nodes[y] < 0 ? log_uniform_ : factor.log_p[nodes[y] * n_outcomes + x];
    }
}

void FactorLookup::add_sparse(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                              const std::int32_t* context, double* joint) const {
    std::array<Search, kAtOnce> searches;
    const std::int64_t n_classes = factor.n_classes;
    joint += first * n_classes;
    for (std::int64_t y = 0; y < n_classes; ++y, ++joint) {
        std::int64_t n_open = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto x = factor.column[first + i];
            if (x < 0) continue;
            const auto node = factor.node[context[i] * n_classes + y];
            if (node < 0)
                joint[i * n_classes] += log_uniform_;
            else
                searches[n_open++] = {static_cast<std::int32_t>(i), node,
                                      bounded(x, n_listed_codes_), 0.0};
        }
        // All go up a level at once; those that find their cell are done.
        while (n_open > 0) {
            std::int64_t n_kept = 0;
            for (std::int64_t j = 0; j < n_open; ++j) {
                const auto [row, u, x, sum] = searches[j];
                const auto& node = nodes_[u];
                const auto& cell = cells_[node.shift + x];
                const bool found = cell.node == u;
                const bool ends = !found && node.base < 0;
                const double rest = sum + node.log_rest;
                if (ends) joint[row * n_classes] += rest + log_uniform_;
                joint[row * n_classes] += found ? sum + cell.log_p : 0.0;
                searches[n_kept] = {row, node.base, x, rest};
                n_kept += !found && !ends;
            }
            n_open = n_kept;
        }
    }
}

void FactorLookup::add_to(const Factor& factor, std::int64_t first, std::int64_t last,
                          double* joint) const {
    std::array<std::int32_t, kAtOnce> context;
    for (; first < last; first += kAtOnce) {
        const auto n_rows = std::min(kAtOnce, last - first);
        find_contexts(factor, first, n_rows, context.data());
        if (factor.dense)
            add_dense(factor, first, n_rows, context.data(), joint);
        else
            add_sparse(factor, first, n_rows, context.data(), joint);
    }
}

}  // namespace priorwise
