#include "scores/score_lookup.hpp"

#include <algorithm>
#include <array>

#include "common/interrupt.hpp"
#include "counts/code_slots.hpp"

namespace priorwise {
namespace {

// Rows that take each step together, so that their waits for memory overlap.
constexpr std::int64_t kAtOnce = 512;

// Largest table of scores for all entries and outcomes, in numbers.
constexpr std::int64_t kMaxTable = 1 << 22;

// Codes that no list has become -1, for which there are slots too.
std::int32_t bounded(std::int32_t v, std::int32_t n_codes) {
    return static_cast<std::uint32_t>(v) < static_cast<std::uint32_t>(n_codes) ? v : -1;
}

}  // namespace

std::optional<ScoreLookup> ScoreLookup::build(const ScoreTree& tree, std::int64_t n_rows) {
    if (std::int64_t{tree.n_contexts()} * tree.n_classes + std::ssize(tree.outcome) >= n_rows)
        return std::nullopt;
    ScoreLookup lookup;
    if (!lookup.lay_out_steps(tree)) return std::nullopt;
    const auto base = lookup.lay_out_entries(tree);
    if (tree.dense()) return lookup;
    const auto table_size = std::int64_t{tree.n_entries()} * tree.n_outcomes;
    if (table_size <= std::min(kMaxTable, n_rows * tree.n_classes))
        lookup.fill_table(tree, base);
    else if (!lookup.lay_out_cells(tree, base))
        return std::nullopt;
    return lookup;
}

std::vector<std::int32_t> ScoreLookup::lay_out_entries(const ScoreTree& tree) {
    const auto width = static_cast<std::size_t>(tree.n_classes);
    std::vector<std::int32_t> base(tree.rest.size(), -1);
    entry_.resize(width * tree.value.size());
    for (std::int32_t c = 0; c < tree.n_contexts(); ++c) {
        auto* const entry = entry_.data() + c * width;
        for (auto e = std::max(1, tree.entry_start[c]); e < tree.entry_start[c + 1]; ++e) {
            if (tree.rest_towards_parent) base[e] = entry[tree.entry_class[e]];
            entry[tree.entry_class[e]] = e;
        }
        for (auto child = tree.child_start[c]; child < tree.child_start[c + 1]; ++child)
            std::copy_n(entry, width, entry_.data() + child * width);
    }
    return base;
}

void ScoreLookup::fill_table(const ScoreTree& tree, std::span<const std::int32_t> base) {
    const auto n_outcomes = static_cast<std::size_t>(tree.n_outcomes);
    table_.resize(tree.rest.size() * n_outcomes);
    for (std::size_t e = 0; e < tree.rest.size(); ++e) {
        auto* const row = table_.data() + e * n_outcomes;
        std::fill_n(row, n_outcomes, double{tree.rest[e]});
        if (base[e] >= 0) {
            const auto* const above = table_.data() + base[e] * n_outcomes;
            for (std::size_t x = 0; x < n_outcomes; ++x) row[x] += above[x];
        }
        for (auto cell = tree.cell_start[e]; cell < tree.cell_start[e + 1]; ++cell)
            row[tree.outcome[cell]] = tree.score[cell];
    }
}

bool ScoreLookup::lay_out_steps(const ScoreTree& tree) {
    const auto contexts = CodeSlots::lay_out(tree.child_start, tree.value);
    if (!contexts) return false;
    steps_.resize(contexts->slots.size());
    for (std::size_t at = 0; at < steps_.size(); ++at) {
        const auto [owner, child] = contexts->slots[at];
        if (owner >= 0) steps_[at] = {owner, child, contexts->shift[child]};
    }
    root_shift_ = contexts->shift[0];
    n_parent_codes_ = contexts->n_codes;
    return true;
}

bool ScoreLookup::lay_out_cells(const ScoreTree& tree, std::span<const std::int32_t> base) {
    const auto cells = CodeSlots::lay_out(tree.cell_start, tree.outcome);
    if (!cells) return false;
    cells_.resize(cells->slots.size());
    for (std::size_t at = 0; at < cells_.size(); ++at) {
        const auto [owner, cell] = cells->slots[at];
        if (owner >= 0) cells_[at] = {owner, tree.score[cell]};
    }
    n_listed_codes_ = cells->n_codes;
    const auto nothing = tree.n_entries();
    for (std::int32_t e = 0; e < nothing; ++e)
        entries_.push_back({tree.rest[e], cells->shift[e], base[e] < 0 ? nothing : base[e]});
    entries_.push_back({0.0F, static_cast<std::int32_t>(cells_.size()) + 1, nothing});
    cells_.resize(cells_.size() + static_cast<std::size_t>(n_listed_codes_) + 1, {nothing, 0.0F});
    return true;
}

void ScoreLookup::find_contexts(const ScoreTree& tree,
                                std::span<const std::span<const std::int32_t>> columns,
                                std::int64_t first, std::int64_t n_rows,
                                std::int32_t* context) const {
    std::array<std::int32_t, kAtOnce> shift;
    std::fill_n(context, n_rows, 0);
    std::fill_n(shift.data(), n_rows, root_shift_);
    for (const auto parent : tree.path) {
        const auto* codes = columns[static_cast<std::size_t>(parent)].data() + first;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            const auto& step = steps_[shift[i] + bounded(codes[i], n_parent_codes_)];
            // A context without such a child gets shift 1, at which there are no further steps.
            const bool taken = step.context == context[i];
            context[i] = taken ? step.child : context[i];
            shift[i] = taken ? step.shift : 1;
        }
    }
}

template <class Score>
void ScoreLookup::add_table(const ScoreTree& tree, const Score* table, const std::int32_t* x,
                            std::int64_t n_rows, const std::int32_t* context, double* joint) const {
    const std::int64_t n_classes = tree.n_classes, n_outcomes = tree.n_outcomes;
    for (std::int64_t i = 0; i < n_rows; ++i, joint += n_classes) {
        if (x[i] < 0) continue;
        const auto* entry = entry_.data() + context[i] * n_classes;
        const auto* score = table + x[i];
        for (std::int64_t y = 0; y < n_classes; ++y) joint[y] += score[entry[y] * n_outcomes];
    }
}

void ScoreLookup::add_cells(const ScoreTree& tree, const std::int32_t* codes, std::int64_t n_rows,
                            const std::int32_t* context, double* joint) const {
    std::array<std::int32_t, kAtOnce> row, entry, x, found_row;
    std::array<double, kAtOnce> sum, found;
    const std::int64_t n_classes = tree.n_classes;
    for (std::int64_t y = 0; y < n_classes; ++y, ++joint) {
        std::int64_t n_open = 0;
        for (std::int64_t i = 0; i < n_rows; ++i) {
            row[n_open] = static_cast<std::int32_t>(i);
            entry[n_open] = entry_[context[i] * n_classes + y];
            x[n_open] = bounded(codes[i], n_listed_codes_);
            sum[n_open] = 0.0;
            n_open += codes[i] >= 0;
        }
        // All go up a level at once; those that find their cell are done.
        while (n_open > 0) {
            std::int64_t n_kept = 0, n_found = 0;
            for (std::int64_t j = 0; j < n_open; ++j) {
                const auto at = entries_[entry[j]];
                const auto cell = cells_[at.shift + x[j]];
                const bool here = cell.entry == entry[j];
                const auto sum_j = sum[j];
                found_row[n_found] = row[j];
                found[n_found] = sum_j + cell.score;
                row[n_kept] = row[j];
                entry[n_kept] = at.base;
                x[n_kept] = x[j];
                sum[n_kept] = sum_j + at.rest;
                n_found += here;
                n_kept += !here;
            }
            for (std::int64_t j = 0; j < n_found; ++j) joint[found_row[j] * n_classes] += found[j];
            n_open = n_kept;
        }
    }
}

void ScoreLookup::add_to(const ScoreTree& tree,
                         std::span<const std::span<const std::int32_t>> columns, std::int64_t first,
                         std::int64_t last, double* joint) const {
    std::array<std::int32_t, kAtOnce> context;
    const auto* x = columns[static_cast<std::size_t>(tree.column)].data();
    for (; first < last; first += kAtOnce) {
        poll_interrupt();
        const auto n_rows = std::min(kAtOnce, last - first);
        find_contexts(tree, columns, first, n_rows, context.data());
        double* const rows = joint + first * tree.n_classes;
        if (tree.dense())
            add_table(tree, tree.score.data(), x + first, n_rows, context.data(), rows);
        else if (!table_.empty())
            add_table(tree, table_.data(), x + first, n_rows, context.data(), rows);
        else
            add_cells(tree, x + first, n_rows, context.data(), rows);
    }
}

}  // namespace priorwise
