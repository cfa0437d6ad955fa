#include <algorithm>
#include <numeric>

#include "forest.hpp"
#include "parallel.hpp"

namespace priorwise {
namespace {

// A block of rows, value after value: codes as numbers too. It shares the cache with one tree.
class RowBlock {
  public:
    RowBlock(std::span<const Feature> features, std::int64_t begin, std::int64_t end)
        : width_(static_cast<std::int64_t>(features.size())),
          values_(static_cast<std::size_t>((end - begin) * width_)) {
        constexpr std::int64_t tile = 16;
        for (auto first = begin; first < end; first += tile)
            for (std::int64_t f = 0; f < width_; ++f)
                for (auto row = first; row < std::min(end, first + tile); ++row)
                    values_[(row - begin) * width_ + f] =
                        features[f].nominal() ? static_cast<double>(features[f].code_at(row))
                                              : features[f].number_at(row);
    }

    static std::int64_t size_for(std::size_t n_features) {
        constexpr std::int64_t n_values = 1 << 13;
        const auto fitting =
            n_values / static_cast<std::int64_t>(std::max<std::size_t>(n_features, 1));
        return std::clamp<std::int64_t>(fitting, 64, 4096);
    }

    const double* row(std::int64_t i) const { return values_.data() + i * width_; }

  private:
    std::int64_t width_;
    std::vector<double> values_;
};

struct Walker {
    std::int32_t row, node;
};

// Leaves of the first n_rows of a block in one tree. All rows take a step before any takes the
// next, so that the waits for memory overlap; those at a leaf, where a step stays, drop out.
void walk(std::span<const ForestNode> tree, const RowBlock& rows, std::int64_t n_rows,
          Walker* walking, std::int32_t* leaf) {
    const auto* nodes = tree.data();
    for (std::int32_t i = 0; i < n_rows; ++i) walking[i] = {i, 0};
    for (auto n = n_rows; n > 0;) {
        std::int64_t left = 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const auto [i, at] = walking[j];
            const auto& node = nodes[at];
            const auto next = node.next(rows.row(i)[node.feature()]);
            leaf[i] = next;
            walking[left] = {i, next};
            left += next != at;
        }
        n = left;
    }
}

// Call body(first row, n_rows, block) for blocks of rows, on threads.
template <class Body>
void for_blocks(std::span<const Feature> features, std::int64_t n_rows, int n_threads,
                Body&& body) {
    const auto size = RowBlock::size_for(features.size());
    parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t b) {
        const auto begin = b * size, end = std::min(n_rows, begin + size);
        body(begin, end - begin, RowBlock(features, begin, end));
    });
}

}  // namespace

void find_forest_leaves(const ForestView& forest, std::span<const Feature> features,
                        std::int64_t n_rows, int n_threads, std::span<std::int32_t> leaf) {
    for_blocks(
        features, n_rows, n_threads, [&](std::int64_t begin, std::int64_t n, const auto& rows) {
            std::vector<Walker> walking(static_cast<std::size_t>(n));
            for (std::int64_t t = 0; t < forest.n_trees(); ++t)
                walk(forest.tree(t), rows, n, walking.data(), leaf.data() + t * n_rows + begin);
        });
}

void average_forest(const ForestView& forest, std::span<const Feature> features,
                    std::int64_t n_rows, std::span<const double> proba, std::int64_t width,
                    int n_threads, std::span<double> out) {
    const double n_trees = static_cast<double>(forest.n_trees());
    for_blocks(features, n_rows, n_threads,
               [&](std::int64_t begin, std::int64_t n, const auto& rows) {
                   std::vector<std::int32_t> leaf(static_cast<std::size_t>(n));
                   std::vector<Walker> walking(leaf.size());
                   auto* sums = out.data() + begin * width;
                   std::fill_n(sums, n * width, 0.0);
                   for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
                       walk(forest.tree(t), rows, n, walking.data(), leaf.data());
                       const auto* table = proba.data() + forest.tree_start[t] * width;
                       for (std::int64_t i = 0; i < n; ++i)
                           for (std::int64_t k = 0; k < width; ++k)
                               sums[i * width + k] += table[leaf[i] * width + k];
                   }
                   for (std::int64_t i = 0; i < n * width; ++i) sums[i] /= n_trees;
               });
}

void contribute_forest(const ForestView& forest, std::span<const Feature> features,
                       std::int64_t n_rows, std::span<const double> proba, std::int64_t width,
                       int n_threads, std::span<double> out) {
    const auto stride = static_cast<std::int64_t>(features.size()) * width;
    const double n_trees = static_cast<double>(forest.n_trees());
    for_blocks(features, n_rows, n_threads,
               [&](std::int64_t begin, std::int64_t n, const auto& rows) {
                   auto* sums = out.data() + begin * stride;
                   std::fill_n(sums, n * stride, 0.0);
                   for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
                       const auto tree = forest.tree(t);
                       const auto* table = proba.data() + forest.tree_start[t] * width;
                       for (std::int64_t i = 0; i < n; ++i)
                           for (std::int32_t at = 0; !tree[at].leaf();) {
                               const auto feature = tree[at].feature();
                               const auto next = tree[at].next(rows.row(i)[feature]);
                               for (std::int64_t k = 0; k < width; ++k)
                                   sums[i * stride + feature * width + k] +=
                                       table[next * width + k] - table[at * width + k];
                               at = next;
                           }
                   }
                   for (std::int64_t i = 0; i < n * stride; ++i) sums[i] /= n_trees;
               });
}

}  // namespace priorwise
