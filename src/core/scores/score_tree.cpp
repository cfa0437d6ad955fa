#include "scores/score_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "common/interrupt.hpp"

namespace priorwise {
namespace {

// The nearest score that is a multiple of 2^-24.
float round_score(double score) {
    constexpr double kUnits = 1 << 24;
    return static_cast<float>(std::isfinite(score) ? std::round(score * kUnits) / kUnits : score);
}

class Packer {
  public:
    Packer(const OwnedFactor& factor, double min_rows)
        : factor_(factor),
          scores_(factor.tables()),
          index_(*factor.index),
          n_rows_(count_context_rows(factor)),
          min_rows_(min_rows) {}

    ScoreArrays pack() {
        tree_.n_classes = index_.n_classes;
        tree_.path = factor_.path;
        if (!scores_.dense) tree_.cell_start = {0};
        is_packed_.assign(factor_.tree->parent.size(), 0);
        add_root();
        tree_.entry_start.push_back(0);
        std::vector<std::int32_t> kept = {0};  // contexts of the factor, by their new numbers
        tree_.value.push_back(-1);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            poll_every<1024>(i);
            const auto context = kept[i];
            add_entries(context);
            tree_.child_start.push_back(static_cast<std::int32_t>(kept.size()));
            for (auto c = index_.child_start[context]; c < index_.child_start[context + 1]; ++c) {
                if (n_rows_[c] < min_rows_) continue;
                kept.push_back(c);
                tree_.value.push_back(index_.value[c]);
            }
        }
        tree_.child_start.push_back(static_cast<std::int32_t>(kept.size()));
        const auto size = [](const auto& array) {
            return std::vector{static_cast<std::int32_t>(array.size())};
        };
        tree_.column = {factor_.column};
        tree_.n_outcomes = {scores_.n_outcomes};
        tree_.rest_towards_parent = {scores_.rest_towards_parent};
        tree_.is_dense = {scores_.dense};
        tree_.n_parents = size(tree_.path);
        tree_.n_contexts = size(tree_.value);
        tree_.n_entries = size(tree_.rest);
        tree_.n_cells = size(tree_.score);
        return std::move(tree_);
    }

  private:
    void add_entries(std::int32_t context) {
        const auto* nodes = scores_.class_nodes(context);
        for (std::int32_t y = 0; y < index_.n_classes; ++y)
            // A node of a context above has its entry already; one without cells adds nothing.
            if (nodes[y] >= 0 && !is_packed_[nodes[y]] && n_cells(nodes[y]) > 0)
                add_entry(nodes[y], y, !scores_.rest_towards_parent);
        tree_.entry_start.push_back(static_cast<std::int32_t>(tree_.rest.size()));
    }

    // Where a class without rows in a context does not back off, its distribution is uniform.
    void add_root() {
        is_packed_[0] = 1;
        if (factor_.backoff) {
            add_entry(0, -1, true);
            return;
        }
        if (scores_.dense) tree_.score.assign(scores_.n_outcomes, round_score(log_uniform()));
        close_entry(-1, 0.0, log_uniform());
    }

    void add_entry(std::int32_t node, std::int32_t y, bool rest_towards_uniform) {
        is_packed_[node] = 1;
        const auto& tree = *factor_.tree;
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            if (!scores_.dense) tree_.outcome.push_back(tree.outcome[cell]);
            tree_.score.push_back(round_score(factor_.log_p[cell]));
        }
        const double rest = scores_.dense ? 0.0 : scores_.log_rest[node];
        close_entry(y, tree.totals[node], rest_towards_uniform ? rest + log_uniform() : rest);
    }

    void close_entry(std::int32_t y, double n_rows, double rest) {
        if (tree_.score.size() > std::numeric_limits<std::int32_t>::max())
            throw std::invalid_argument("a factor has at most 2**31 - 1 cells");
        tree_.entry_class.push_back(y);
        tree_.n_rows.push_back(static_cast<float>(n_rows));
        tree_.rest.push_back(round_score(rest));
        if (!scores_.dense)
            tree_.cell_start.push_back(static_cast<std::int32_t>(tree_.score.size()));
    }

    std::int64_t n_cells(std::int32_t node) const {
        return factor_.tree->row_start[node + 1] - factor_.tree->row_start[node];
    }

    double log_uniform() const { return -std::log(static_cast<double>(scores_.n_outcomes)); }

    const OwnedFactor& factor_;
    const Factor scores_;
    const ContextIndex& index_;
    const std::vector<double> n_rows_;  // per context
    const double min_rows_;
    ScoreArrays tree_;
    std::vector<char> is_packed_;  // per node of the tree of counts
};

void check(bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string("ScoreTree: ").append(rule));
}

// Whether a rule holds for all places. Several are looked at with one instruction, since there is
// no branch and the result has the size of the numbers.
template <class Rule>
bool holds_for_all(std::size_t n, Rule&& rule) {
    std::uint32_t broken = 0;
    for (std::size_t i = 0; i < n; ++i) broken |= static_cast<std::uint32_t>(!rule(i));
    return broken == 0;
}

// Whether start[i] .. start[i + 1] divide the places first .. size among `n` owners.
bool divides(std::span<const std::int32_t> start, std::size_t n, std::size_t size,
             std::int32_t first = 0) {
    return start.size() == n + 1 && start.front() == first &&
           holds_for_all(n, [&](std::size_t i) { return start[i] <= start[i + 1]; }) &&
           static_cast<std::size_t>(start.back()) == size;
}

// Whether values rise strictly from start[i] to start[i + 1], for every owner. They may fall where
// the values of another owner begin, and nowhere else.
bool rise_within(std::span<const std::int32_t> values, std::span<const std::int32_t> start) {
    if (values.size() < 2) return true;
    // In 32 bits, several numbers are compared with one instruction.
    std::uint32_t n_falls = 0, n_allowed = 0;
    for (std::size_t i = static_cast<std::size_t>(start.front()) + 1; i < values.size(); ++i)
        n_falls += static_cast<std::uint32_t>(values[i] <= values[i - 1]);
    const auto last = static_cast<std::int32_t>(values.size()) - 1;
    for (std::size_t i = 1; i + 1 < start.size(); ++i) {
        const auto at = start[i], within = std::clamp(at, 1, last);
        n_allowed += static_cast<std::uint32_t>((at > start.front()) & (at > start[i - 1]) &
                                                (at < start.back()) &
                                                (values[within] <= values[within - 1]));
    }
    return n_falls == n_allowed;
}

void validate_contexts(const ScoreTree& tree) {
    const auto n_contexts = tree.value.size();
    const auto& child = tree.child_start;
    check(n_contexts >= 1 && n_contexts < std::numeric_limits<std::int32_t>::max(),
          "value must hold at least the root");
    check(divides(child, n_contexts, n_contexts, 1), "child_start must divide the contexts");
    check(holds_for_all(n_contexts,
                        [&](std::size_t c) {
                            return (child[c] == child[c + 1]) |
                                   (child[c] > static_cast<std::int64_t>(c));
                        }),
          "children must come after their parents");
    check(rise_within(tree.value, child), "values of children must rise");
}

void validate_entries(const ScoreTree& tree) {
    const auto n_entries = tree.rest.size();
    check(n_entries >= 1 && divides(tree.entry_start, tree.value.size(), n_entries),
          "entry_start must divide the entries");
    check(tree.entry_class[0] == -1 && tree.entry_start[1] >= 1,
          "the first entry must be that of all classes, at the root");
    check(holds_for_all(n_entries - 1,
                        [&](std::size_t e) {
                            return (tree.entry_class[e + 1] >= 0) &
                                   (tree.entry_class[e + 1] < tree.n_classes);
                        }),
          "classes must exist");
    check(holds_for_all(n_entries,
                        [&](std::size_t e) {
                            return (tree.n_rows[e] >= 0.0F) &
                                   (tree.n_rows[e] <= std::numeric_limits<float>::max());
                        }),
          "n_rows must be finite and not negative");
}

void validate_cells(const ScoreTree& tree) {
    const auto n_entries = tree.rest.size();
    for (const auto scores : {tree.rest, tree.score})
        check(holds_for_all(
                  scores.size(),
                  [&](std::size_t i) { return scores[i] <= std::numeric_limits<float>::max(); }),
              "rest and score must be numbers below infinity");
    if (tree.dense()) {
        check(tree.outcome.empty() &&
                  tree.score.size() == n_entries * static_cast<std::size_t>(tree.n_outcomes),
              "score must have one value per entry and outcome");
        return;
    }
    check(tree.outcome.size() == tree.score.size() &&
              divides(tree.cell_start, n_entries, tree.score.size()),
          "cell_start must divide the cells");
    check(holds_for_all(tree.outcome.size(),
                        [&](std::size_t cell) {
                            return (tree.outcome[cell] >= 0) &
                                   (tree.outcome[cell] < tree.n_outcomes);
                        }) &&
              rise_within(tree.outcome, tree.cell_start),
          "outcomes must exist and rise");
}

}  // namespace

std::vector<double> count_context_rows(const OwnedFactor& factor) {
    const auto& tree = *factor.tree;
    const auto& index = *factor.index;
    const auto width = static_cast<std::size_t>(index.n_classes);
    std::vector<double> n_rows(index.value.size());
    n_rows[0] = tree.totals[0];
    for (std::size_t c = 0; c < n_rows.size(); ++c)
        for (auto child = static_cast<std::size_t>(index.child_start[c]);
             child < static_cast<std::size_t>(index.child_start[c + 1]); ++child)
            for (std::size_t y = 0; y < width; ++y) {
                const auto node = index.node[child * width + y];
                if (node >= 0 && node != index.node[c * width + y])
                    n_rows[child] += tree.totals[node];
            }
    return n_rows;
}

void ScoreArrays::append(const ScoreTree& tree) {
    const auto add = [](auto& array, const auto& more) {
        array.insert(array.end(), more.begin(), more.end());
    };
    n_classes = tree.n_classes;
    column.push_back(tree.column);
    n_outcomes.push_back(tree.n_outcomes);
    n_parents.push_back(static_cast<std::int32_t>(tree.path.size()));
    n_contexts.push_back(tree.n_contexts());
    n_entries.push_back(tree.n_entries());
    n_cells.push_back(static_cast<std::int32_t>(tree.score.size()));
    rest_towards_parent.push_back(tree.rest_towards_parent);
    is_dense.push_back(tree.dense());
    add(path, tree.path);
    add(value, tree.value);
    add(child_start, tree.child_start);
    add(entry_start, tree.entry_start);
    add(entry_class, tree.entry_class);
    add(n_rows, tree.n_rows);
    add(rest, tree.rest);
    add(cell_start, tree.cell_start);
    add(outcome, tree.outcome);
    add(score, tree.score);
}

ScoreArrays pack_scores(const OwnedFactor& factor, double min_rows) {
    return Packer(factor, min_rows).pack();
}

void validate(const ScoreTree& tree) {
    check(tree.column >= 0 && std::ranges::all_of(tree.path, [](auto p) { return p >= 0; }),
          "column and path must not be negative");
    check(tree.n_classes >= 1 && tree.n_outcomes >= 1,
          "n_classes and n_outcomes must be at least 1");
    validate_contexts(tree);
    validate_entries(tree);
    validate_cells(tree);
}

void ScoreTree::add_to(std::span<const std::span<const std::int32_t>> columns, std::int64_t first,
                       std::int64_t last, double* joint) const {
    std::vector<double> sum(static_cast<std::size_t>(n_classes));
    for (auto row = first; row < last; ++row) {
        poll_every<1 << 12>(row);
        const auto x = columns[static_cast<std::size_t>(column)][row];
        if (x < 0) continue;
        std::ranges::fill(sum, score_of(0, x, 0.0));
        walk(columns, row, [&](std::int32_t context, std::int32_t) {
            for (auto e = std::max(1, entry_start[context]); e < entry_start[context + 1]; ++e)
                sum[entry_class[e]] = score_of(e, x, sum[entry_class[e]]);
        });
        double* out = joint + row * n_classes;
        for (std::int32_t y = 0; y < n_classes; ++y) out[y] += sum[y];
    }
}

void ScoreTree::find_support(std::span<const std::span<const std::int32_t>> columns,
                             std::int64_t n_read, float* support, std::int32_t* n_unused) const {
    const auto n_levels = static_cast<std::int32_t>(path.size()) + 1;
    for (std::int64_t row = 0; row < n_read; ++row) {
        poll_every<1 << 12>(row);
        float* const support_of = support + row * n_classes;
        std::int32_t* const n_unused_of = n_unused + row * n_classes;
        const bool known = columns[static_cast<std::size_t>(column)][row] >= 0;
        std::fill_n(support_of, n_classes, known ? n_rows[0] : 0.0F);
        // A root entry without rows answers for contexts that do not back off.
        std::fill_n(n_unused_of, n_classes, known && n_rows[0] > 0.0F ? n_levels : 0);
        if (!known) continue;
        walk(columns, row, [&](std::int32_t context, std::int32_t level) {
            for (auto e = std::max(1, entry_start[context]); e < entry_start[context + 1]; ++e) {
                support_of[entry_class[e]] = n_rows[e];
                n_unused_of[entry_class[e]] = n_levels - 1 - level;
            }
        });
    }
}

}  // namespace priorwise
