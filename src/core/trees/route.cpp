#include "trees/route.hpp"

#include <algorithm>
#include <cmath>

#include "common/parallel.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 1 << 13;

// The data of a node that one step needs, in one cache line.
struct Step {
    double threshold;
    std::int32_t feature;
    std::int32_t first_child, last_child;
    std::int32_t missing_child;  // of a missing number or an unknown code; -1: none
    SplitKind kind;
};

std::int32_t find_child(const TreeSplits& tree, const Step& step, std::int32_t branch) {
    const auto first = tree.value.begin() + step.first_child;
    const auto last = tree.value.begin() + step.last_child;
    // A node with every branch has branch b at place b: try there first.
    const auto child = branch >= 0 && branch < last - first && first[branch] == branch
                           ? first + branch
                           : std::lower_bound(first, last, branch);
    if (child == last || *child != branch) return -1;
    return static_cast<std::int32_t>(child - tree.value.begin());
}

Step pack(const TreeSplits& tree, std::int32_t node) {
    Step step{tree.threshold[node],
              tree.feature[node],
              tree.child_start[node],
              tree.child_start[node + 1],
              -1,
              static_cast<SplitKind>(tree.kind[node])};
    if (step.kind == SplitKind::kNumeric || step.kind == SplitKind::kEqual)
        step.missing_child = find_child(tree, step, tree.missing_value[node]);
    return step;
}

std::int32_t next_node(const TreeSplits& tree, const Step& step, const Feature& feature,
                       std::int64_t row) {
    switch (step.kind) {
        case SplitKind::kNumeric: {
            const double x = feature.number_at(row);
            // Below comes first; above, where there is one, comes second.
            if (x <= step.threshold) return step.first_child;
            return x > step.threshold ? step.first_child + 1 : step.missing_child;
        }
        case SplitKind::kNominal:
            return find_child(tree, step, feature.code_at(row));
        case SplitKind::kEqual: {
            const auto code = feature.code_at(row);
            if (code < 0) return step.missing_child;
            return find_child(tree, step, code == step.threshold ? kSame : kOther);
        }
        default:
            return -1;
    }
}

}  // namespace

std::int32_t step_down(const TreeSplits& tree, std::span<const Feature> features, std::int32_t node,
                       std::int64_t row) {
    const auto step = pack(tree, node);
    if (step.kind == SplitKind::kLeaf) return -1;
    return next_node(tree, step, features[step.feature], row);
}

void find_leaves(const TreeSplits& tree, std::span<const Feature> features, std::int64_t n_rows,
                 int n_threads, std::span<std::int32_t> leaf) {
    std::vector<Step> steps;
    for (std::size_t node = 0; node < tree.feature.size(); ++node)
        steps.push_back(pack(tree, static_cast<std::int32_t>(node)));
    parallel_for((n_rows + kBlock - 1) / kBlock, n_threads, [&](std::int64_t block) {
        const auto last = std::min(n_rows, (block + 1) * kBlock);
        for (auto row = block * kBlock; row < last; ++row) {
            std::int32_t node = 0;
            while (steps[node].kind != SplitKind::kLeaf) {
                const auto& step = steps[node];
                const auto child = next_node(tree, step, features[step.feature], row);
                if (child < 0) break;
                node = child;
            }
            leaf[row] = node;
        }
    });
}

}  // namespace priorwise
