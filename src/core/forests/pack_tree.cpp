// Decision trees as packed binary trees.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/require.hpp"
#include "forests/forest.hpp"

namespace priorwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kAboveWay = 1 << ForestNode::kGreater;
constexpr int kNotAtMostWay = kAboveWay | 1 << ForestNode::kUnordered;
constexpr int kEqualWay = 1 << ForestNode::kEqualTo;
// Below all codes, above the number of unknown ones.
constexpr double kBelowCodes = -0.5;

void check(bool rule, const char* message) {
    require(rule, "not a decision tree: ", message);
}

// What a packed node is to be.
struct Task {
    enum Kind {
        kWhole,   // a node of the decision tree with all that is below it
        kStop,    // a leaf for rows that have no branch at the node
        kKnown,   // sends missing values their way, and others to the child `first`
        kSearch,  // finds the interval of a code among those from `first` to `last`
    } kind;
    std::int32_t node;
    std::int32_t first = 0, last = 0;
};

class TreePacker {
  public:
    explicit TreePacker(const TreeSplits& splits) : splits_(splits), counts_(splits.counts) {}

    PackedTree pack() {
        tasks_.push_back({Task::kWhole, 0});
        // Tasks are done in the order in which they came, so nodes are numbered level by level.
        for (std::size_t at = 0; at < tasks_.size(); ++at) {
            const auto task = tasks_[at];
            packed_.owner.push_back(task.node);
            packed_.nodes.push_back(make_node(task));
        }
        return std::move(packed_);
    }

  private:
    ForestNode make_node(const Task& task) {
        const auto node = task.node;
        switch (task.kind) {
            case Task::kStop:
                return make_leaf(node);
            case Task::kSearch: {
                const auto middle = (task.first + task.last) / 2;
                return split(node, ends_[middle], kAboveWay, search(node, task.first, middle),
                             search(node, middle + 1, task.last));
            }
            case Task::kKnown:
                if (kind(node) == SplitKind::kNumeric)
                    return split(node, kInfinity, kNotAtMostWay, go_to(node, task.first),
                                 go_to(node, missing_child(node)));
                return split(node, kBelowCodes, kAboveWay, {Task::kStop, node},
                             go_to(node, task.first));
            default:
                break;
        }
        switch (kind(node)) {
            case SplitKind::kNumeric:
                return split_numbers(node);
            case SplitKind::kNominal:
                return split_codes(node);
            case SplitKind::kEqual:
                return split_one_code(node);
            default:
                check(n_children(node) == 0, "a leaf must have no children");
                return make_leaf(node);
        }
    }

    ForestNode make_leaf(std::int32_t node) const {
        return {counts_.totals[node], static_cast<std::int32_t>(packed_.nodes.size()), 0};
    }

    ForestNode split(std::int32_t node, double threshold, int ways, const Task& first,
                     const Task& second) {
        check(splits_.feature[node] >= 0 && splits_.feature[node] < kMaxForestFeatures,
              "the feature of a split must be from 0 to 2**27 - 1");
        const auto place = static_cast<std::int32_t>(tasks_.size());
        tasks_.push_back(first);
        tasks_.push_back(second);
        return {threshold, place, splits_.feature[node] << ForestNode::kPlaces | ways};
    }

    ForestNode split_numbers(std::int32_t node) {
        const double threshold = splits_.threshold[node];
        const auto below = find_child(node, kBelow), above = find_child(node, kAbove);
        const auto missing = missing_child(node);
        check(!std::isnan(threshold) && below >= 0 && (above >= 0 || threshold == kInfinity),
              "a numeric split must have a child below its threshold, and one above unless it is "
              "infinite");
        const bool apart = missing >= 0 && missing != below && missing != above;
        check(n_children(node) == 1 + (above >= 0) + apart, "a branch must have rows");
        if (above < 0)
            return split(node, threshold, missing == below ? kAboveWay : kNotAtMostWay,
                         go_to(node, below), go_to(node, missing == below ? -1 : missing));
        if (missing == above)
            return split(node, threshold, kNotAtMostWay, go_to(node, below), go_to(node, above));
        if (missing == below || !(apart || may_be_missing(node)))
            return split(node, threshold, kAboveWay, go_to(node, below), go_to(node, above));
        // Missing numbers go with the side of fewer rows, which are then asked for them.
        if (counts_.totals[above] < counts_.totals[below])
            return split(node, threshold, kNotAtMostWay, go_to(node, below),
                         {Task::kKnown, node, above});
        return split(node, threshold, kAboveWay, {Task::kKnown, node, below}, go_to(node, above));
    }

    // A search for a code among the intervals that its neighbours, sorted, leave.
    ForestNode split_codes(std::int32_t node) {
        const auto first = static_cast<std::int32_t>(ends_.size());
        check(n_children(node) > 0, "a nominal split must have children");
        const auto add = [&](double end, std::int32_t child) {
            ends_.push_back(end);
            children_.push_back(child);
        };
        for (auto child = counts_.child_start[node]; child < counts_.child_start[node + 1];
             ++child) {
            const double code = counts_.value[child];
            if (std::ssize(ends_) == first || code > ends_.back() + 1.0) add(code - 1.0, -1);
            add(code, child);
        }
        const auto last = static_cast<std::int32_t>(ends_.size());
        add(kInfinity, -1);
        return make_node({Task::kSearch, node, first, last});
    }

    ForestNode split_one_code(std::int32_t node) {
        const auto other = find_child(node, kOther), same = find_child(node, kSame);
        const auto unknown = missing_child(node);
        check(n_children(node) == (other >= 0) + (same >= 0), "a branch must have rows");
        check(unknown < 0 || unknown == other, "unknown codes must stop or be among the others");
        const bool stops = unknown != other && may_be_missing(node);
        return split(node, splits_.threshold[node], kEqualWay,
                     stops ? Task{Task::kKnown, node, other} : go_to(node, other),
                     go_to(node, same));
    }

    Task search(std::int32_t node, std::int32_t first, std::int32_t last) const {
        return first == last ? go_to(node, children_[first])
                             : Task{Task::kSearch, node, first, last};
    }

    static Task go_to(std::int32_t node, std::int32_t child) {
        return child < 0 ? Task{Task::kStop, node} : Task{Task::kWhole, child};
    }

    // False if rows with a missing value have left the path at a split by the same feature.
    bool may_be_missing(std::int32_t node) const {
        const auto feature = splits_.feature[node];
        for (auto above = counts_.parent[node]; above >= 0;
             node = above, above = counts_.parent[above])
            if (splits_.feature[above] == feature && missing_child(above) != node) return false;
        return true;
    }

    std::int32_t missing_child(std::int32_t node) const {
        return kind(node) == SplitKind::kNominal ? -1
                                                 : find_child(node, splits_.missing_value[node]);
    }

    std::int32_t find_child(std::int32_t node, std::int32_t branch) const {
        const auto first = counts_.value.begin() + counts_.child_start[node];
        const auto last = counts_.value.begin() + counts_.child_start[node + 1];
        const auto child = std::lower_bound(first, last, branch);
        if (child == last || *child != branch) return -1;
        return static_cast<std::int32_t>(child - counts_.value.begin());
    }

    std::int32_t n_children(std::int32_t node) const {
        return counts_.child_start[node + 1] - counts_.child_start[node];
    }

    SplitKind kind(std::int32_t node) const { return static_cast<SplitKind>(splits_.kind[node]); }

    const TreeSplits& splits_;
    const CountTree& counts_;
    PackedTree packed_;
    std::vector<Task> tasks_;
    // Intervals of codes, each with its last code and its child, -1 if rows stop.
    std::vector<double> ends_;
    std::vector<std::int32_t> children_;
};

}  // namespace

PackedTree pack_tree(const TreeSplits& splits) {
    return TreePacker(splits).pack();
}

}  // namespace priorwise
