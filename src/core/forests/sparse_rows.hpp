// Rows of smoothed probabilities for the nodes of a forest with many outcomes.
//
// A row p = (n + c p_parent) / (N + c) has an entry for every outcome, but a node near the leaves
// has training rows of a few outcomes. So the outcomes of the training rows are kept, those of a
// subtree side by side, and rows only for nodes of many training rows; other rows are computed on
// the way down. All of them are rounded to 32 bits, so a row has the same bits however it is found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forests/forest.hpp"

namespace priorwise {

struct SparseRows {
    std::int32_t width;
    double strength;
    std::vector<std::int32_t> below;       // per node: number of its training rows
    std::vector<std::uint16_t> outcome;    // per training row, tree after tree
    std::vector<std::int64_t> kept_node;   // rising, through all trees; every root is among them
    std::vector<float> kept_row;           // per kept node: `width` numbers
    std::vector<std::int64_t> row_start;   // per tree: its first training row; from `validate`
    std::vector<std::int64_t> kept_start;  // per tree, and one past the last; from `validate`

    // Training rows of a node.
    struct Range {
        std::int64_t begin;
        std::int32_t size;
    };

    // The row of the last node of a path that starts below a node with the row `above`.
    template <class Above>
    void compute(const Above* above, std::span<const Range> path, double c, double* share,
                 double* p) const;

    // The row of the leaf that next(node), the child to take, leads to in tree t.
    template <class Next>
    void find_leaf(const ForestView& forest, std::int64_t t, Next&& next, class SparsePath& path,
                   float* row) const;
};

// Memory for the computation of rows.
class SparsePath {
  public:
    explicit SparsePath(const SparseRows& rows)
        : rows_(rows), p_(static_cast<std::size_t>(rows.width)) {}

    void clear() { ranges_.clear(); }
    void push(SparseRows::Range range) { ranges_.push_back(range); }
    void reverse() { std::ranges::reverse(ranges_); }

    // Round the row at the end of the path below a kept node to `row`.
    void write(std::int64_t kept, float* row) {
        share_.resize(ranges_.size());
        rows_.compute(rows_.kept_row.data() + kept * rows_.width,
                      std::span<const SparseRows::Range>(ranges_), rows_.strength, share_.data(),
                      p_.data());
        std::ranges::copy(p_, row);
    }

  private:
    const SparseRows& rows_;
    std::vector<SparseRows::Range> ranges_;
    std::vector<double> share_, p_;
};

// With s = N + c, a node has the share N / s of what is left and c / s goes on to its parent; so a
// training row has the sum of the shares, over its count, of all nodes of the path that it is
// below.
template <class Above>
void SparseRows::compute(const Above* above, std::span<const Range> path, double c, double* share,
                         double* p) const {
    double left = 1.0;
    for (auto j = path.size(); j-- > 0;) {
        share[j] = left / (path[j].size + c);
        left = c * share[j];
    }
    for (std::int32_t k = 0; k < width; ++k) p[k] = left * above[k];
    double sum = 0.0;
    for (std::size_t j = 0; j < path.size(); ++j) {
        sum += share[j];
        const auto end = path[j].begin + path[j].size;
        const bool last = j + 1 == path.size();
        const auto middle = last ? end : path[j + 1].begin;
        for (auto i = path[j].begin; i < middle; ++i) p[outcome[i]] += sum;
        for (auto i = last ? end : middle + path[j + 1].size; i < end; ++i) p[outcome[i]] += sum;
    }
}

template <class Next>
void SparseRows::find_leaf(const ForestView& forest, std::int64_t t, Next&& next, SparsePath& path,
                           float* row) const {
    const auto start = forest.tree_start[t];
    auto kept = kept_start[t];
    std::int64_t place = kept, begin = row_start[t];
    path.clear();
    for (std::int32_t at = 0;;) {
        const auto node = start + at;
        while (place < kept_start[t + 1] && kept_node[place] < node) ++place;
        if (place < kept_start[t + 1] && kept_node[place] == node) {
            kept = place;
            path.clear();
        } else {
            path.push({begin, below[node]});
        }
        const auto& split = forest.nodes[node];
        if (split.leaf()) break;
        at = next(split);
        if (at != split.first) begin += below[start + split.first];
    }
    path.write(kept, row);
}

// Rows of one tree at a time, in memory that is used again for the next.
class TreeRows {
  public:
    TreeRows(const ForestView& forest, const SparseRows& rows)
        : forest_(forest), rows_(rows), path_(rows) {}

    // The rows of all nodes of a tree (nodes x width).
    const float* fill(std::int64_t t);

  private:
    const ForestView& forest_;
    const SparseRows& rows_;
    SparsePath path_;
    std::vector<float> filled_;
    std::vector<std::int64_t> begin_, kept_;
    std::vector<std::int32_t> parent_;
};

// Returns nothing if dense rows would take less than `kMinSaving` times the memory. Rows must weigh
// one each.
constexpr double kMinSaving = 16.0;
std::optional<SparseRows> make_sparse_rows(const ForestView& forest, const ForestRows& rows,
                                           double strength);

// Throw std::invalid_argument unless the rows fit the forest, and fill what is found. O(nodes).
void validate(SparseRows& rows, const ForestView& forest);

}  // namespace priorwise
