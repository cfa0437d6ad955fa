#include "counts/factor.hpp"

#include <limits>
#include <tuple>

#include "common/interrupt.hpp"
#include "common/require.hpp"

namespace priorwise {

ContextIndex index_contexts(const CountTree& tree, std::int32_t n_classes, bool backoff) {
    const auto& [parent, value, level_start] = std::tie(tree.parent, tree.value, tree.level_start);
    const auto width = static_cast<std::size_t>(n_classes);
    // While a vector grows, its old and its new memory are taken.
    const auto check_contexts = [&](std::size_t n_contexts) {
        require_memory(12.0 * static_cast<double>(n_contexts * width), parent.size(), "n_classes",
                       n_classes);
    };
    check_contexts(1);
    ContextIndex index{n_classes, {-1}, {}, {}};
    index.node.assign(width, 0);                          // a class without rows: the root
    std::vector<std::int32_t> context(parent.size(), 0);  // per tree node
    std::vector<std::int32_t> class_of(parent.size(), -1);
    std::vector<std::int32_t> context_parent = {-1};
    std::vector<std::int32_t> order, start;
    std::size_t first_above = 0;  // context of the level above
    const auto n_levels = level_start.size() - 1;
    if (n_levels > 1) {
        for (auto u = level_start[1]; u < level_start[2]; ++u) {
            class_of[u] = value[u];
            index.node[value[u]] = static_cast<std::int32_t>(u);
        }
    }
    for (std::size_t level = 2; level < n_levels; ++level) {
        const auto first = level_start[level], last = level_start[level + 1];
        const auto n_above = index.value.size() - first_above;
        // The nodes by the context above, and below each context by value.
        start.assign(n_above + 1, 0);
        for (auto u = first; u < last; ++u) ++start[context[parent[u]] - first_above + 1];
        for (std::size_t i = 0; i < n_above; ++i) start[i + 1] += start[i];
        order.resize(static_cast<std::size_t>(last - first));
        for (auto u = first; u < last; ++u)
            order[start[context[parent[u]] - first_above]++] = static_cast<std::int32_t>(u);
        for (std::size_t i = 0; i < n_above; ++i)
            sort_polling(order.begin() + (i > 0 ? start[i - 1] : 0), order.begin() + start[i],
                         [&](std::int32_t u, std::int32_t v) { return value[u] < value[v]; });
        first_above = index.value.size();
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto u = order[i];
            const auto above = static_cast<std::size_t>(context[parent[u]]);
            if (i == 0 || context[parent[order[i - 1]]] != context[parent[u]] ||
                value[order[i - 1]] != value[u]) {
                context_parent.push_back(context[parent[u]]);
                index.value.push_back(value[u]);
                check_contexts(index.value.size());
                // A class without rows in this context uses the node of the context above.
                index.node.resize(index.node.size() + width);
                std::copy_n(index.node.begin() + above * width, width, index.node.end() - width);
            }
            context[u] = static_cast<std::int32_t>(index.value.size()) - 1;
            class_of[u] = class_of[parent[u]];
            index.node[static_cast<std::size_t>(context[u]) * width + class_of[u]] = u;
        }
    }
    if (!backoff)
        for (auto& node : index.node)
            if (node < level_start[n_levels - 1]) node = -1;
    const auto n_contexts = index.value.size();
    index.child_start.assign(n_contexts + 1, 0);
    for (std::size_t v = 1; v < n_contexts; ++v) ++index.child_start[context_parent[v] + 1];
    index.child_start[0] = 1;
    for (std::size_t v = 0; v < n_contexts; ++v) index.child_start[v + 1] += index.child_start[v];
    return index;
}

Factor OwnedFactor::tables() const {
    return {index->value,     index->child_start,
            index->node,      index->n_classes,
            tree->n_outcomes, tree->is_dense(),
            tree->row_start,  tree->outcome,
            tree->parent,     log_p,
            log_rest,         rest_towards_parent,
            nullptr,          {}};
}

Factor OwnedFactor::over(std::span<const std::span<const std::int32_t>> columns) const {
    Factor factor = tables();
    factor.column = columns[column].data();
    factor.path.reserve(path.size());
    for (const auto parent : path) factor.path.push_back(columns[parent].data());
    return factor;
}

std::vector<double> log_rest_factors(const TreeView& tree, std::span<const double> p,
                                     bool towards_parent) {
    std::vector<double> factor(tree.parent.size(), 0.0);
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        const auto first = tree.row_start[node];
        const auto last = tree.row_start[node + 1];
        double left = 1.0;
        double left_of_base = 1.0;
        for (auto cell = first; cell < last; ++cell) {
            left -= p[cell];
            left_of_base -=
                towards_parent && node > 0 ? p[tree.parent_cell[cell]] : 1.0 / tree.n_outcomes;
        }
        if (first == last) continue;
        // Frequencies sum to one but for rounding: outcomes that are not listed have probability
        // zero.
        const bool nothing = !towards_parent && left < 1e-13;
        factor[node] =
            nothing ? -std::numeric_limits<double>::infinity()
                    : std::log(std::max(left, 1e-300)) - std::log(std::max(left_of_base, 1e-300));
    }
    return factor;
}

// Logarithm of the smallest normal number. A class that is not impossible has at least that share
// of the most probable one: no probability becomes zero by underflow.
constexpr double kLeastLog = -708.3964185322641;

void normalise_rows(std::int64_t n_rows, std::int32_t n_classes, double* rows) {
    for (double* row = rows; row != rows + n_rows * n_classes; row += n_classes) {
        const double largest = *std::max_element(row, row + n_classes);
        double sum = 0.0;
        for (std::int32_t y = 0; y < n_classes; ++y) {
            const double gap = row[y] - largest;
            row[y] = std::exp(gap < kLeastLog && std::isfinite(gap) ? kLeastLog : gap);
            sum += row[y];
        }
        for (std::int32_t y = 0; y < n_classes; ++y) row[y] /= sum;
    }
}

void normalise_joint(std::int64_t n_rows, std::span<const double> log_prior, double* rows) {
    const auto n_classes = std::ssize(log_prior);
    constexpr double kImpossible = -std::numeric_limits<double>::infinity();
    for (double* row = rows; row != rows + n_rows * n_classes; row += n_classes)
        if (std::all_of(row, row + n_classes, [](double joint) { return joint == kImpossible; }))
            std::ranges::copy(log_prior, row);
    normalise_rows(n_rows, static_cast<std::int32_t>(n_classes), rows);
}

}  // namespace priorwise
