#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "common/parallel.hpp"
#include "common/require.hpp"
#include "forests/forest.hpp"
#include "forests/sparse_rows.hpp"

namespace priorwise {
namespace {

// The features of all nodes.
std::vector<std::int32_t> find_used_features(const ForestView& forest, std::size_t n_features,
                                             std::int64_t n_rows) {
    std::vector<std::int32_t> used(n_features);
    std::iota(used.begin(), used.end(), 0);
    // To look at all nodes may take longer than to copy all values.
    if (forest.nodes.size() > n_features * static_cast<std::size_t>(n_rows)) return used;
    std::vector<char> is_used(n_features);
    for (const auto& node : forest.nodes) is_used[node.feature()] = 1;
    std::erase_if(used, [&](std::int32_t f) { return !is_used[f]; });
    return used;
}

// A block of rows, feature after feature, codes as numbers too; features that are not used have no
// values. It shares the cache with one tree.
class RowBlock {
  public:
    RowBlock(std::span<const Feature> features, std::span<const std::int32_t> used,
             std::int64_t begin, std::int64_t end)
        : n_rows_(end - begin),
          values_(std::make_unique_for_overwrite<double[]>(features.size() *
                                                           static_cast<std::size_t>(n_rows_))) {
        // A few rows at a time, because the values of a row may be contiguous in the table.
        constexpr std::int64_t few = 64;
        for (std::int64_t first = 0; first < n_rows_; first += few)
            for (const auto f : used) {
                const auto& feature = features[f];
                auto* column = values_.get() + f * n_rows_;
                const auto last = std::min(n_rows_, first + few);
                if (feature.nominal())
                    for (auto i = first; i < last; ++i) column[i] = feature.code_at(begin + i);
                else
                    for (auto i = first; i < last; ++i) column[i] = feature.number_at(begin + i);
            }
    }

    static std::int64_t size_for(std::size_t n_features) {
        constexpr std::int64_t n_values = 1 << 16;
        const auto fitting =
            n_values / static_cast<std::int64_t>(std::max<std::size_t>(n_features, 1));
        return std::clamp<std::int64_t>(fitting, 256, 4096);
    }

    std::int64_t n_rows() const { return n_rows_; }
    const double* column(std::int32_t f) const { return values_.get() + f * n_rows_; }

  private:
    std::int64_t n_rows_;
    std::unique_ptr<double[]> values_;
};

// Rows of a block down one tree after the other.
class Walk {
  public:
    explicit Walk(const RowBlock& rows)
        : rows_(rows),
          order_(static_cast<std::size_t>(rows.n_rows())),
          spare_(order_.size()),
          walking_(order_.size()) {}

    // The leaf of every row. While many rows are at a node they are split together by its feature;
    // few rows walk down one by one.
    void find(std::span<const ForestNode> tree, std::int32_t* leaf) {
        const auto* nodes = tree.data();
        std::iota(order_.begin(), order_.end(), 0);
        n_walking_ = 0;
        open_.assign({{0, 0, static_cast<std::int32_t>(order_.size())}});
        while (!open_.empty()) {
            const auto [at, begin, end] = open_.back();
            open_.pop_back();
            const auto& node = nodes[at];
            if (node.leaf()) {
                for (auto i = begin; i < end; ++i) leaf[order_[i]] = at;
            } else if (end - begin <= kFew) {
                for (auto i = begin; i < end; ++i) walking_[n_walking_++] = {order_[i], at};
            } else {
                const auto middle = part(node, begin, end);
                open_.push_back({node.first + 1, middle, end});
                open_.push_back({node.first, begin, middle});
            }
        }
        walk(nodes, leaf);
    }

  private:
    static constexpr std::int32_t kFew = 64;

    struct Part {
        std::int32_t node, begin, end;
    };
    struct Walker {
        std::int32_t row, node;
    };

    std::int32_t part(const ForestNode& node, std::int32_t begin, std::int32_t end) {
        const auto* x = rows_.column(node.feature());
        const double t = node.threshold;
        if (node.split & 1 << ForestNode::kEqualTo)
            return part(begin, end, [=](std::int32_t i) { return x[i] == t; });
        if (node.split & 1 << ForestNode::kUnordered)
            return part(begin, end, [=](std::int32_t i) { return !(x[i] <= t); });
        return part(begin, end, [=](std::int32_t i) { return x[i] > t; });
    }

    template <class Second>
    std::int32_t part(std::int32_t begin, std::int32_t end, Second second) {
        auto* order = order_.data();
        auto* spare = spare_.data();
        std::int32_t kept = begin, moved = 0;
        for (auto i = begin; i < end; ++i) {
            const auto row = order[i];
            const bool moves = second(row);
            order[kept] = row;
            spare[moved] = row;
            kept += !moves;
            moved += moves;
        }
        std::copy_n(spare, moved, order + kept);
        return kept;
    }

    // All rows take one step before any takes the next, so that their waits for memory overlap;
    // rows at a leaf are removed.
    void walk(const ForestNode* nodes, std::int32_t* leaf) {
        auto* walking = walking_.data();
        while (n_walking_ > 0) {
            std::size_t left = 0;
            for (std::size_t j = 0; j < n_walking_; ++j) {
                const auto [row, at] = walking[j];
                const auto& node = nodes[at];
                const auto next = node.next(rows_.column(node.feature())[row]);
                leaf[row] = next;
                walking[left] = {row, next};
                left += next != at;
            }
            n_walking_ = left;
        }
    }

    const RowBlock& rows_;
    std::vector<std::int32_t> order_, spare_;
    std::vector<Walker> walking_;
    std::size_t n_walking_ = 0;
    std::vector<Part> open_;
};

// Rows of a block, if there are so few that all trees do not fit in the cache for each of them.
constexpr std::int64_t kFewRows = 16;
constexpr std::size_t kTreesAtOnce = 16;

// The leaves of one row in the trees from `first` on. All trees take one step before any takes the
// next, so that their waits for memory overlap.
void find_side_by_side(const ForestView& forest, const RowBlock& rows, std::int64_t row,
                       std::int64_t first, std::span<std::int32_t> leaf) {
    std::ranges::fill(leaf, 0);
    for (bool moves = true; moves;) {
        moves = false;
        for (std::size_t j = 0; j < leaf.size(); ++j) {
            const auto start = forest.tree_start[first + static_cast<std::int64_t>(j)];
            const auto& node = forest.nodes[start + leaf[j]];
            const auto next = node.next(rows.column(node.feature())[row]);
            moves |= next != leaf[j];
            leaf[j] = next;
        }
    }
}

void add_row(const float* numbers, std::int64_t width, double* sum) {
    for (std::int64_t k = 0; k < width; ++k) sum[k] += numbers[k];
}

// The same as `add_leaves` for rows of nodes that are not kept: each is computed when a row first
// reaches it.
void add_sparse_leaves(const ForestView& forest, const RowBlock& rows, const SparseRows& sparse,
                       double* sums) {
    const auto width = static_cast<std::size_t>(sparse.width);
    const bool few = rows.n_rows() <= kFewRows;
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(rows.n_rows())), place;
    std::vector<float> table(width);
    SparsePath path(sparse);
    Walk walk(rows);
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        const auto find_leaf = [&](std::int64_t i, float* row) {
            const auto next = [&](const ForestNode& node) {
                return node.next(rows.column(node.feature())[i]);
            };
            sparse.find_leaf(forest, t, next, path, row);
        };
        if (!few) {
            walk.find(forest.tree(t), leaf.data());
            place.assign(forest.tree(t).size(), -1);
            table.clear();
        }
        for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
            const auto* row = table.data();
            if (few) {
                find_leaf(i, table.data());
            } else {
                auto& at = place[static_cast<std::size_t>(leaf[i])];
                if (at < 0) {
                    at = static_cast<std::int32_t>(table.size() / width);
                    table.resize(table.size() + width);
                    find_leaf(i, table.data() + at * width);
                }
                row = table.data() + at * width;
            }
            add_row(row, sparse.width, sums + i * sparse.width);
        }
    }
}

// Add the row of the leaf of every row in every tree, tree by tree, to sums (rows x width).
void add_leaves(const ForestView& forest, const RowBlock& rows, const NodeRows& node_rows,
                double* sums) {
    if (node_rows.sparse) return add_sparse_leaves(forest, rows, *node_rows.sparse, sums);
    const auto width = node_rows.width;
    if (rows.n_rows() <= kFewRows) {
        std::array<std::int32_t, kTreesAtOnce> leaves;
        for (std::int64_t i = 0; i < rows.n_rows(); ++i)
            for (std::int64_t t = 0; t < forest.n_trees(); t += kTreesAtOnce) {
                const auto n = std::min<std::int64_t>(kTreesAtOnce, forest.n_trees() - t);
                const std::span leaf(leaves.data(), static_cast<std::size_t>(n));
                find_side_by_side(forest, rows, i, t, leaf);
                for (std::int64_t j = 0; j < n; ++j)
                    add_row(node_rows.dense.data() + (forest.tree_start[t + j] + leaf[j]) * width,
                            width, sums + i * width);
            }
        return;
    }
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(rows.n_rows()));
    Walk walk(rows);
    for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
        walk.find(forest.tree(t), leaf.data());
        const auto* table = node_rows.dense.data() + forest.tree_start[t] * width;
        for (std::int64_t i = 0; i < rows.n_rows(); ++i)
            add_row(table + leaf[i] * width, width, sums + i * width);
    }
}

// Call body(first row, n_rows, block) for blocks of rows, on threads.
template <class Body>
void for_blocks(const ForestView& forest, std::span<const Feature> features, std::int64_t n_rows,
                int n_threads, Body&& body) {
    const auto used = find_used_features(forest, features.size(), n_rows);
    const auto size = RowBlock::size_for(used.size());
    parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t b) {
        const auto begin = b * size, end = std::min(n_rows, begin + size);
        body(begin, end - begin, RowBlock(features, used, begin, end));
    });
}

}  // namespace

void find_forest_leaves(const ForestView& forest, std::span<const Feature> features,
                        std::int64_t n_rows, int n_threads, std::span<std::int32_t> leaf) {
    for_blocks(forest, features, n_rows, n_threads,
               [&](std::int64_t begin, std::int64_t n, const auto& rows) {
                   Walk walk(rows);
                   for (std::int64_t t = 0; t < forest.n_trees(); ++t)
                       walk.find(forest.tree(t), leaf.data() + t * n_rows + begin);
               });
}

void average_forest(const ForestView& forest, std::span<const Feature> features,
                    std::int64_t n_rows, const NodeRows& node_rows, int n_threads,
                    std::span<double> out) {
    const auto width = node_rows.width;
    const double n_trees = static_cast<double>(forest.n_trees());
    for_blocks(forest, features, n_rows, n_threads,
               [&](std::int64_t begin, std::int64_t n, const auto& rows) {
                   auto* sums = out.data() + begin * width;
                   std::fill_n(sums, n * width, 0.0);
                   add_leaves(forest, rows, node_rows, sums);
                   for (std::int64_t i = 0; i < n * width; ++i) sums[i] /= n_trees;
               });
}

void contribute_forest(const ForestView& forest, std::span<const Feature> features,
                       std::int64_t n_rows, const NodeRows& node_rows, int n_threads,
                       std::span<double> out) {
    const auto width = node_rows.width;
    const auto stride = static_cast<std::int64_t>(features.size()) * width;
    const double n_trees = static_cast<double>(forest.n_trees());
    for_blocks(forest, features, n_rows, n_threads,
               [&](std::int64_t begin, std::int64_t n, const auto& rows) {
                   auto* sums = out.data() + begin * stride;
                   std::fill_n(sums, n * stride, 0.0);
                   std::optional<TreeRows> sparse;
                   if (node_rows.sparse) sparse.emplace(forest, *node_rows.sparse);
                   for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
                       const auto tree = forest.tree(t);
                       const auto* table =
                           sparse ? sparse->fill(t)
                                  : node_rows.dense.data() + forest.tree_start[t] * width;
                       for (std::int64_t i = 0; i < n; ++i)
                           for (std::int32_t at = 0; !tree[at].leaf();) {
                               const auto feature = tree[at].feature();
                               const auto next = tree[at].next(rows.column(feature)[i]);
                               for (std::int64_t k = 0; k < width; ++k)
                                   sums[i * stride + feature * width + k] +=
                                       static_cast<double>(table[next * width + k]) -
                                       table[at * width + k];
                               at = next;
                           }
                   }
                   for (std::int64_t i = 0; i < n * stride; ++i) sums[i] /= n_trees;
               });
}

}  // namespace priorwise
