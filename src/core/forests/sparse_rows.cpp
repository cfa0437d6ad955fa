#include "forests/sparse_rows.hpp"

#include <functional>
#include <limits>
#include <numeric>

#include "common/require.hpp"
#include "stored/checks.hpp"

namespace priorwise {
namespace {

void check(bool rule, const char* message) {
    require(rule, "not rows of these trees: ", message);
}

}  // namespace

const float* TreeRows::fill(std::int64_t t) {
    const auto tree = forest_.tree(t);
    const auto start = forest_.tree_start[t];
    filled_.resize(tree.size() * static_cast<std::size_t>(rows_.width));
    begin_.resize(tree.size());
    kept_.assign(tree.size(), -1);
    parent_.resize(tree.size());
    begin_[0] = rows_.row_start[t];
    for (auto i = rows_.kept_start[t]; i < rows_.kept_start[t + 1]; ++i)
        kept_[rows_.kept_node[i] - start] = i;
    for (std::int32_t u = 0; u < std::ssize(tree); ++u) {
        path_.clear();
        auto above = u;
        for (; kept_[above] < 0; above = parent_[above])
            path_.push({begin_[above], rows_.below[start + above]});
        path_.reverse();
        path_.write(kept_[above], filled_.data() + static_cast<std::int64_t>(u) * rows_.width);
        if (tree[u].leaf()) continue;
        const auto first = tree[u].first;
        begin_[first] = begin_[u];
        begin_[first + 1] = begin_[u] + rows_.below[start + first];
        parent_[first] = parent_[first + 1] = u;
    }
    return filled_.data();
}

std::optional<SparseRows> make_sparse_rows(const ForestView& forest, const ForestRows& rows,
                                           double strength) {
    const auto n_rows = rows.outcome.size();
    const auto width = static_cast<std::size_t>(rows.n_outcomes);
    if (width > std::numeric_limits<std::uint16_t>::max()) return {};
    SparseRows made{rows.n_outcomes,
                    strength,
                    std::vector<std::int32_t>(forest.nodes.size()),
                    {},
                    {},
                    {},
                    {},
                    {}};
    const auto counts = [&](std::int64_t t, std::size_t r) {
        const auto cell = static_cast<std::size_t>(t) * n_rows + r;
        return rows.leaf[cell] >= 0 && (rows.count_all || !rows.out[cell]);
    };
    std::size_t n_counted = 0;
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        const auto tree = forest.tree(t);
        const auto start = forest.tree_start[t];
        auto* below = made.below.data() + start;
        for (std::size_t r = 0; r < n_rows; ++r)
            if (counts(t, r)) ++below[rows.leaf[static_cast<std::size_t>(t) * n_rows + r]];
        for (std::size_t u = tree.size(); u-- > 0;)
            if (!tree[u].leaf()) below[u] += below[tree[u].first] + below[tree[u].first + 1];
        n_counted += static_cast<std::size_t>(below[0]);
        for (std::size_t u = 0; u < tree.size(); ++u)
            if (u == 0 || below[u] >= rows.n_outcomes)
                made.kept_node.push_back(start + static_cast<std::int64_t>(u));
    }
    const auto n_nodes = static_cast<double>(forest.nodes.size());
    const auto dense = 4.0 * n_nodes * static_cast<double>(width);
    const auto sparse = 4.0 * n_nodes + 2.0 * static_cast<double>(n_counted) +
                        4.0 * static_cast<double>(made.kept_node.size() * width);
    if (kMinSaving * sparse > dense) return {};
    made.outcome.resize(n_counted);
    made.kept_row.reserve(made.kept_node.size() * width);
    const std::vector<double> uniform(width, 1.0 / static_cast<double>(width));
    std::vector<std::int64_t> begin, cursor;
    std::vector<double> exact;
    auto kept = made.kept_node.begin();
    std::int64_t first_row = 0;
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        const auto tree = forest.tree(t);
        const auto start = forest.tree_start[t];
        const auto* below = made.below.data() + start;
        begin.assign(tree.size(), first_row);
        for (std::size_t u = 0; u < tree.size(); ++u) {
            if (tree[u].leaf()) continue;
            const auto first = static_cast<std::size_t>(tree[u].first);
            begin[first] = begin[u];
            begin[first + 1] = begin[u] + below[first];
        }
        cursor = begin;
        for (std::size_t r = 0; r < n_rows; ++r)
            if (counts(t, r))
                made.outcome[cursor[rows.leaf[static_cast<std::size_t>(t) * n_rows + r]]++] =
                    static_cast<std::uint16_t>(rows.outcome[r]);
        // Kept nodes are the first on every path, and come after their parents.
        std::vector<std::size_t> place(tree.size());
        exact.clear();
        std::vector<std::int32_t> parent(tree.size(), -1);
        for (std::size_t u = 0; u < tree.size(); ++u) {
            if (!tree[u].leaf())
                parent[tree[u].first] = parent[tree[u].first + 1] = static_cast<std::int32_t>(u);
            if (kept == made.kept_node.end() || *kept != start + static_cast<std::int64_t>(u))
                continue;
            ++kept;
            place[u] = exact.size();
            exact.resize(exact.size() + width);
            const SparseRows::Range own{begin[u], below[u]};
            double share;
            made.compute(u == 0 ? uniform.data() : exact.data() + place[parent[u]], {&own, 1},
                         u == 0 ? 1.0 : strength, &share, exact.data() + place[u]);
        }
        made.kept_row.insert(made.kept_row.end(), exact.begin(), exact.end());
        first_row += below[0];
    }
    validate(made, forest);
    return made;
}

void validate(SparseRows& rows, const ForestView& forest) {
    check(rows.below.size() == forest.nodes.size(), "below needs one number per node");
    check(std::ranges::all_of(rows.below, [](auto n) { return n >= 0; }),
          "below must not be negative");
    check(std::ranges::all_of(rows.outcome, [&](auto k) { return k < rows.width; }),
          "outcome must be less than width");
    check(std::ranges::is_sorted(rows.kept_node, std::less_equal<>()), "kept_node must rise");
    check(rows.kept_row.size() == rows.kept_node.size() * static_cast<std::size_t>(rows.width),
          "kept_row needs width numbers per kept node");
    check(are_distributions(std::span<const float>(rows.kept_row),
                            static_cast<std::size_t>(rows.width)),
          "kept_row must be probabilities that sum to one");
    rows.row_start.clear();
    rows.kept_start.clear();
    std::int64_t row = 0;
    std::size_t kept = 0;
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        const auto tree = forest.tree(t);
        const auto start = forest.tree_start[t];
        check(kept < rows.kept_node.size() && rows.kept_node[kept] == start,
              "kept_node must hold every root");
        rows.row_start.push_back(row);
        rows.kept_start.push_back(static_cast<std::int64_t>(kept));
        while (kept < rows.kept_node.size() && rows.kept_node[kept] < forest.tree_start[t + 1])
            ++kept;
        const auto* below = rows.below.data() + start;
        for (std::size_t u = 0; u < tree.size(); ++u)
            check(tree[u].leaf() || below[u] == static_cast<std::int64_t>(below[tree[u].first]) +
                                                    below[tree[u].first + 1],
                  "a node must have the training rows of its children");
        row += below[0];
    }
    rows.kept_start.push_back(static_cast<std::int64_t>(kept));
    check(kept == rows.kept_node.size(), "kept_node must be nodes");
    check(row == static_cast<std::int64_t>(rows.outcome.size()),
          "outcome needs one entry per training row");
}

}  // namespace priorwise
