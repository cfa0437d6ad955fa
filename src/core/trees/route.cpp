#include "trees/route.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/parallel.hpp"
#include "common/require.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 1 << 13;
// Rows that walk down a tree side by side, so that one need not wait for another's memory.
constexpr std::size_t kLanes = 8;
constexpr std::int64_t kChunk = 64;     // rows whose numbers are copied at a time, for that
constexpr std::size_t kMaxCopied = 64;  // numbers of a row

void check(bool rule, const char* message) {
    require(rule, "not a decision tree: ", message);
}

std::int32_t find_child(std::span<const std::int32_t> value, const DecisionTree::Step& step,
                        std::int32_t branch) {
    const auto first = value.begin() + step.first_child;
    const auto last = value.begin() + step.last_child;
    // A node with every branch has branch b at place b: try there first.
    const auto child = branch >= 0 && branch < last - first && first[branch] == branch
                           ? first + branch
                           : std::lower_bound(first, last, branch);
    if (child == last || *child != branch) return -1;
    return static_cast<std::int32_t>(child - value.begin());
}

std::int32_t next_node(std::span<const std::int32_t> value, const DecisionTree::Step& step,
                       const Feature& feature, std::int64_t row) {
    switch (step.kind) {
        case SplitKind::kNumeric: {
            const double x = feature.number_at(row);
            // Below comes first; above, where there is one, comes second.
            if (x <= step.threshold) return step.first_child;
            return x > step.threshold ? step.first_child + 1 : step.missing_child;
        }
        case SplitKind::kNominal:
            return find_child(value, step, feature.code_at(row));
        case SplitKind::kEqual: {
            const auto code = feature.code_at(row);
            if (code < 0) return step.missing_child;
            return find_child(value, step, code == step.threshold ? kSame : kOther);
        }
        default:
            return -1;
    }
}

// Copy the numbers of kChunk rows that the tree needs, row by row; false if one is missing.
bool copy_rows(const DecisionTree& tree, std::span<const Feature> features, std::int64_t first,
               double* numbers) {
    const auto width = tree.needed.size();
    bool missing = false;
    for (std::size_t place = 0; place < width; ++place) {
        const auto& feature = features[tree.needed[place].feature];
        for (std::int64_t i = 0; i < kChunk; ++i) {
            const double x = feature.number_at(first + i);
            missing |= x != x;
            numbers[static_cast<std::size_t>(i) * width + place] = x;
        }
    }
    return !missing;
}

// A leaf leads back to itself, so that rows side by side may take steps until none moves. Inlined,
// it becomes twice as slow.
[[gnu::noinline]] void walk_side_by_side(const DecisionTree::Step* steps, const double* numbers,
                                         std::size_t width, std::int32_t* leaf) {
    std::int32_t node[kLanes] = {};
    std::int32_t moved = 1;
    while (moved != 0) {
        moved = 0;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const auto& step = steps[node[lane]];
            const double x = numbers[lane * width + static_cast<std::size_t>(step.place)];
            const auto next = step.first_child + static_cast<std::int32_t>(x > step.threshold);
            moved |= next ^ node[lane];
            node[lane] = next;
        }
    }
    std::copy(node, node + kLanes, leaf);
}

// A numeric split has its first child below; above may be missing only where nothing is above.
bool has_sides(std::span<const std::int32_t> value, const DecisionTree::Step& step) {
    const auto n_children = step.last_child - step.first_child;
    if (n_children < 1 || value[step.first_child] != kBelow) return false;
    const bool above = n_children > 1 && value[step.first_child + 1] == kAbove;
    return above || step.threshold == std::numeric_limits<double>::infinity();
}

}  // namespace

void validate(DecisionTree& tree) {
    const auto n_nodes = tree.counts->parent.size();
    const auto& value = tree.counts->value;
    check(tree.feature.size() == n_nodes && tree.kind.size() == n_nodes &&
              tree.threshold.size() == n_nodes && tree.missing_value.size() == n_nodes &&
              tree.gain.size() == n_nodes,
          "feature, kind, threshold, missing_value and gain must have one entry per node");
    std::map<std::int32_t, bool> nominal;
    tree.steps.clear();
    tree.steps.reserve(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) {
        check(tree.kind[node] <= static_cast<std::uint8_t>(SplitKind::kEqual),
              "kind must be 0, 1, 2 or 3");
        DecisionTree::Step step{tree.threshold[node],
                                tree.feature[node],
                                tree.counts->child_start[node],
                                tree.counts->child_start[node + 1],
                                -1,
                                0,
                                static_cast<SplitKind>(tree.kind[node])};
        if (step.kind != SplitKind::kLeaf) {
            check(step.feature >= 0, "feature must not be negative where a node splits");
            const bool codes = step.kind != SplitKind::kNumeric;
            const auto [known, is_new] = nominal.emplace(step.feature, codes);
            check(known->second == codes, "a feature must be numeric or nominal throughout");
            check(codes || has_sides(value, step),
                  "a numeric split must have a child below and one above its threshold");
            if (step.kind != SplitKind::kNominal)
                step.missing_child = find_child(value, step, tree.missing_value[node]);
        }
        tree.steps.push_back(step);
    }
    tree.needed.clear();
    for (const auto& [feature, codes] : nominal) tree.needed.push_back({feature, codes});
    tree.side_by_side = !nominal.empty() && nominal.size() <= kMaxCopied;
    for (const auto& [feature, codes] : nominal) tree.side_by_side = tree.side_by_side && !codes;
    for (std::size_t node = 0; node < n_nodes; ++node) {
        auto& step = tree.steps[node];
        if (step.kind == SplitKind::kLeaf) {
            step.threshold = std::numeric_limits<double>::infinity();
            step.first_child = static_cast<std::int32_t>(node);
        } else {
            tree.side_by_side = tree.side_by_side && !std::isnan(step.threshold);
            const auto place = std::distance(nominal.begin(), nominal.find(step.feature));
            step.place = static_cast<std::int32_t>(place);
        }
    }
}

std::int32_t step_down(const DecisionTree& tree, std::span<const Feature> features,
                       std::int32_t node, std::int64_t row) {
    const auto& step = tree.steps[node];
    if (step.kind == SplitKind::kLeaf) return -1;
    return next_node(tree.counts->value, step, features[step.feature], row);
}

void find_leaves(const DecisionTree& tree, std::span<const Feature> features, std::int64_t first,
                 std::int64_t last, std::int32_t* leaf) {
    const std::span<const std::int32_t> value = tree.counts->value;
    const auto width = tree.needed.size();
    std::vector<double> numbers(tree.side_by_side && last - first >= kChunk ? kChunk * width : 0);
    for (auto row = first; row < last;) {
        const auto end = std::min(last, row + kChunk);
        if (!numbers.empty() && end - row == kChunk &&
            copy_rows(tree, features, row, numbers.data())) {
            for (std::size_t i = 0; i < kChunk; i += kLanes)
                walk_side_by_side(tree.steps.data(), numbers.data() + i * width, width,
                                  leaf + (row - first) + i);
            row = end;
        }
        for (; row < end; ++row) {
            std::int32_t node = 0;
            while (tree.steps[node].kind != SplitKind::kLeaf) {
                const auto& step = tree.steps[node];
                const auto child = next_node(value, step, features[step.feature], row);
                if (child < 0) break;
                node = child;
            }
            leaf[row - first] = node;
        }
    }
}

void find_leaves(const DecisionTree& tree, std::span<const Feature> features, std::int64_t n_rows,
                 int n_threads, std::span<std::int32_t> leaf) {
    parallel_for((n_rows + kBlock - 1) / kBlock, n_threads, [&](std::int64_t block) {
        const auto first = block * kBlock, last = std::min(n_rows, first + kBlock);
        find_leaves(tree, features, first, last, leaf.data() + first);
    });
}

}  // namespace priorwise
