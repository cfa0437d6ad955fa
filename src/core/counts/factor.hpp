// One factor p(x | class, parents) of a network, laid out for prediction.
//
// Its count tree has the class as first level and the parents below. A prediction needs all classes
// of a row, so the subtrees of the classes are merged: a context node stands for the same
// parent values under every class, and knows for each class the deepest tree node on that path.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "counts/count_tree.hpp"

namespace priorwise {

struct ContextIndex {
    std::int32_t n_classes;
    std::vector<std::int32_t> value;        // per context: the parent value that leads to it
    std::vector<std::int32_t> child_start;  // per context, and one past the last
    std::vector<std::int32_t> node;         // per context and class: the deepest tree node
};

// Merge the subtrees of the classes, O(nodes log nodes + contexts x classes). Without `backoff` the
// node of contexts that a class does not have is -1. The values of the first level must lie in
// 0..n_classes - 1.
ContextIndex index_contexts(const CountTree& tree, std::int32_t n_classes, bool backoff);

// Factor of the base for outcomes that a sparse row does not list: log of (1 - sum of the listed
// ones) / (1 - their sum in the base), per node; the base is the parent's row or the uniform
// distribution.
std::vector<double> log_rest_factors(const TreeView& tree, std::span<const double> p,
                                     bool towards_parent);

// Where v is in a rising list of different codes, or last. At most v codes are below v, and at
// least v less those that are missing: lists that miss few need little search.
inline const std::int32_t* find_code(const std::int32_t* first, const std::int32_t* last,
                                     std::int32_t v) {
    if (first == last || v < *first || v > last[-1]) return last;
    const std::int64_t n_missing = std::int64_t{last[-1]} + 1 - (last - first);
    const auto* low = first + std::max<std::int64_t>(0, v - n_missing);
    const auto* high = first + std::min<std::int64_t>(std::int64_t{v} + 1, last - first);
    const auto* found = std::lower_bound(low, high, v);
    return found == high || *found != v ? last : found;
}

// A factor over the columns of some rows, as kernels read it.
struct Factor {
    std::span<const std::int32_t> value, child_start, node;  // the context index
    std::int32_t n_classes;
    std::int32_t n_outcomes;
    bool dense;
    std::span<const std::int64_t> row_start;
    std::span<const std::int32_t> outcome, parent;
    std::span<const double> log_p;     // per cell
    std::span<const double> log_rest;  // per node; empty for dense trees
    bool rest_towards_parent;
    const std::int32_t* column;             // codes of x
    std::vector<const std::int32_t*> path;  // codes of the parents

    // For each class the deepest tree node of a context.
    const std::int32_t* class_nodes(std::int32_t context) const {
        return node.data() + static_cast<std::int64_t>(context) * n_classes;
    }

    // The context reached by v from the given one, or -1.
    std::int32_t step(std::int32_t context, std::int32_t v) const {
        const auto* first = value.data() + child_start[context];
        const auto* last = value.data() + child_start[context + 1];
        const auto* child = find_code(first, last, v);
        if (child == last) return -1;
        return static_cast<std::int32_t>(child - value.data());
    }

    // Node -1 stands for a context without rows where the smoother does not back off: uniform.
    double log_probability(std::int32_t tree_node, std::int32_t x) const {
        if (tree_node < 0) return -std::log(static_cast<double>(n_outcomes));
        if (dense) return log_p[static_cast<std::int64_t>(tree_node) * n_outcomes + x];
        return sparse_log_probability(tree_node, x);
    }

    // The cell of x at a node, or -1.
    std::int64_t find_cell(std::int32_t tree_node, std::int32_t x) const {
        if (dense) return static_cast<std::int64_t>(tree_node) * n_outcomes + x;
        const auto* first = outcome.data() + row_start[tree_node];
        const auto* last = outcome.data() + row_start[tree_node + 1];
        const auto* cell = find_code(first, last, x);
        return cell == last ? -1 : cell - outcome.data();
    }

  private:
    double sparse_log_probability(std::int32_t tree_node, std::int32_t x) const {
        double sum = 0.0;
        for (;;) {
            const auto cell = find_cell(tree_node, x);
            if (cell >= 0) return sum + log_p[cell];
            sum += log_rest[tree_node];
            const bool empty = row_start[tree_node] == row_start[tree_node + 1];
            if (tree_node == 0 || !(rest_towards_parent || empty))
                return sum - std::log(static_cast<double>(n_outcomes));
            tree_node = parent[tree_node];
        }
    }
};

// A factor that owns what it is made of.
struct OwnedFactor {
    std::int32_t column;             // the feature
    std::vector<std::int32_t> path;  // its parents
    std::shared_ptr<const CountTree> tree;
    std::shared_ptr<const ContextIndex> index;
    bool backoff;
    bool rest_towards_parent;
    std::vector<double> log_p;     // per cell
    std::vector<double> log_rest;  // per node; empty for dense trees

    // What kernels read of the factor, without columns.
    Factor tables() const;
    // columns: the codes of every feature up to the last that the factor uses.
    Factor over(std::span<const std::span<const std::int32_t>> columns) const;
};

// Turn rows of finite scores into probabilities in proportion to their exponentials.
void normalise_rows(std::int64_t n_rows, std::int32_t n_classes, double* rows);

// Turn rows of log joint probabilities into class probabilities. A row that is impossible, because
// every class has the joint probability zero, gets the class prior. Only unsmoothed counts make
// rows impossible.
void normalise_joint(std::int64_t n_rows, std::span<const double> log_prior, double* rows);

}  // namespace priorwise
