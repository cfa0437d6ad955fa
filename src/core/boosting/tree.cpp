#include "boosting/tree.hpp"

#include <algorithm>

#include "boosting/search.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// Sums of the features that are counted together: they fit in the second-level cache.
constexpr std::size_t kMaxSums = 1 << 15;
// Numbers in the histograms that are kept for the nodes of a level.
constexpr std::size_t kMaxKept = 1 << 22;
constexpr std::int32_t kMaxKeptDepth = 22;
// Rows that one task leads to their leaves.
constexpr std::size_t kRoutedRows = 4096;
constexpr std::size_t kSideBySide = 8;
// Rows between a prefetch and the use.
constexpr std::size_t kAhead = 32;

// The tree with its nodes numbered level by level.
BoostTree number_by_level(const BoostTree& tree) {
    const auto width = tree.value.size() / tree.nodes.size();
    BoostTree numbered;
    std::vector<std::int32_t> order{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto old = order[i];
        auto node = tree.nodes[old];
        node.first = static_cast<std::int32_t>(node.leaf() ? i : order.size());
        if (!node.leaf())
            for (const auto child : {0, 1}) order.push_back(tree.nodes[old].first + child);
        numbered.nodes.push_back(node);
        const auto* value = tree.value.data() + static_cast<std::size_t>(old) * width;
        numbered.value.insert(numbered.value.end(), value, value + width);
    }
    return numbered;
}

}  // namespace

BoostGrower::BoostGrower(const BoostRows& rows, const BoostingRules& rules)
    : rows_(rows), rules_(rules), width_(static_cast<std::size_t>(rows.width())) {}

// Of nodes with the same gain the first one counts as larger.
bool BoostGrower::gains_less(const Open& a, const Open& b) {
    return a.split.gain < b.split.gain || (a.split.gain == b.split.gain && a.node > b.node);
}

BoostTree BoostGrower::grow(const BoostTask& task, std::span<double> score) {
    task_ = &task;
    l2_ = rules_.l2 / task.unit;
    min_hessian_ = rules_.min_hessian / task.unit;
    spare_.resize(task.grown.size());
    sums_.clear();
    steps_.clear();
    plan_histograms();
    BoostTree tree;
    std::vector<Open> open, taken, children;
    open.push_back(add_node(task.grown, 0, sum_rows(task.grown), tree));
    open.front().is_alone = true;
    give_histograms({}, open);
    find_splits(open);
    depth_ = 0;
    for (std::int32_t n_leaves = 1; !open.empty();) {
        take_next(open, taken);
        children.clear();
        for (auto& parent : taken) {
            if (parent.split.feature < 0 || n_leaves == rules_.max_leaves) {
                close(std::move(parent), score, tree);
                continue;
            }
            if (!split_node(parent, tree, children)) {
                keep_whole(std::move(parent), children);
                continue;
            }
            ++n_leaves;
            const auto pair = std::span(children).last(2);
            bound_values(parent, pair, tree);
            if (pair[0].depth < rules_.max_depth)
                give_histograms(std::move(parent.histogram), pair);
            else if (!parent.histogram.empty())
                task.scratch.histograms.push_back(std::move(parent.histogram));
        }
        if (!children.empty() && children.front().depth < rules_.max_depth) find_splits(children);
        for (auto& child : children) {
            open.push_back(std::move(child));
            if (rules_.max_leaves > 0) std::push_heap(open.begin(), open.end(), gains_less);
        }
    }
    route(score, tree);
    if (rules_.max_leaves > 0 || rules_.symmetric) return number_by_level(tree);
    return tree;
}

// Take the nodes to split next: all of them, or with a limit of leaves that of the largest gain.
void BoostGrower::take_next(std::vector<Open>& open, std::vector<Open>& taken) const {
    taken.clear();
    if (rules_.max_leaves == 0) {
        std::swap(open, taken);
        return;
    }
    std::pop_heap(open.begin(), open.end(), gains_less);
    taken.push_back(std::move(open.back()));
    open.pop_back();
}

// The node stays a leaf.
void BoostGrower::close(Open leaf, std::span<double> score, const BoostTree& tree) {
    add_to(score, leaf, tree);
    if (!leaf.histogram.empty()) task_->scratch.histograms.push_back(std::move(leaf.histogram));
}

// Rows that the tree is not grown from walk down to their leaves, a few side by side.
void BoostGrower::route(std::span<double> score, const BoostTree& tree) const {
    const auto rows = task_->routed;
    const auto n_pieces = static_cast<std::int64_t>((rows.size() + kRoutedRows - 1) / kRoutedRows);
    parallel_for(n_pieces, task_->n_threads, [&](std::int64_t piece) {
        const auto begin = static_cast<std::size_t>(piece) * kRoutedRows;
        const auto end = std::min(rows.size(), begin + kRoutedRows);
        for (auto at = begin; at < end; at += kSideBySide)
            route_few(rows.subspan(at, std::min(kSideBySide, end - at)), score, tree);
    });
}

void BoostGrower::route_few(std::span<const std::int32_t> rows, std::span<double> score,
                            const BoostTree& tree) const {
    const auto n_features = static_cast<std::size_t>(rows_.bins.n_features());
    const std::uint8_t* bins[kSideBySide];
    std::size_t node[kSideBySide] = {};
    for (std::size_t i = 0; i < kSideBySide; ++i)
        bins[i] = rows_.bins.rows() +
                  static_cast<std::size_t>(rows[std::min(i, rows.size() - 1)]) * n_features;
    for (std::int32_t level = 0; level < depth_; ++level)
        for (std::size_t i = 0; i < kSideBySide; ++i) node[i] = steps_[node[i]].next(bins[i]);
    for (std::size_t i = 0; i < rows.size(); ++i)
        add_value(score, rows[i], tree.value.data() + node[i] * width_);
}

// Where the sums of each feature of this tree are in a histogram.
void BoostGrower::plan_histograms() {
    places_.clear();
    histogram_size_ = 0;
    for (const auto f : task_->features) {
        places_.push_back({static_cast<std::size_t>(f), histogram_size_});
        histogram_size_ += static_cast<std::size_t>(rows_.bins.feature(f).n_bins) * width_;
    }
}

// Memory for the histograms of nodes: the child of more rows takes over that of its parent.
void BoostGrower::give_histograms(Histogram parent, std::span<Open> children) {
    if (histogram_size_ > kMaxKept / max_open()) return;
    auto& spare = task_->scratch.histograms;
    for (auto& child : children) {
        if (!spare.empty()) {
            child.histogram = std::move(spare.back());
            spare.pop_back();
        }
        child.histogram.resize(histogram_size_);
    }
    if (parent.empty()) return;
    auto& larger = children[children[0].grown.size() < children[1].grown.size()];
    std::swap(larger.histogram, parent);
    spare.push_back(std::move(parent));
}

// Most nodes that may be split at one time: those of a level, or all leaves.
std::size_t BoostGrower::max_open() const {
    const auto of_level = std::size_t{1} << std::min(rules_.max_depth, kMaxKeptDepth);
    return rules_.max_leaves == 0 ? of_level
                                  : std::min(of_level, static_cast<std::size_t>(rules_.max_leaves));
}

BoostGrower::Open BoostGrower::add_node(std::span<std::int32_t> grown, std::int32_t depth,
                                        const std::vector<Slope>& sums, BoostTree& tree) {
    const auto node = static_cast<std::int32_t>(tree.nodes.size());
    tree.nodes.push_back({0.0, node, 0});
    sums_.insert(sums_.end(), sums.begin(), sums.end());
    steps_.push_back({0, static_cast<std::size_t>(node), {}});
    for (const auto sum : sums)
        tree.value.push_back(-rules_.rate * first_slope(sum) / (second_slope(sum) + l2_));
    return {node, depth, grown};
}

// Part the rows of a node in place and add its children, unless one would have too little.
bool BoostGrower::split_node(const Open& parent, BoostTree& tree, std::vector<Open>& children) {
    const auto& split = parent.split;
    const auto n_grown = part(parent.grown, split);
    const auto grown = parent.grown.first(n_grown), others = parent.grown.subspan(n_grown);
    const bool first_is_smaller = grown.size() <= others.size();
    auto sums = sum_rows(first_is_smaller ? grown : others);
    auto rest = sums;
    const auto* all = sums_.data() + static_cast<std::size_t>(parent.node) * width_;
    for (std::size_t k = 0; k < width_; ++k) rest[k] = all[k] - sums[k];
    if (!first_is_smaller) std::swap(sums, rest);
    if (rules_.symmetric &&
        std::min(hessian_of(sums.data(), width_), hessian_of(rest.data(), width_)) < min_hessian_)
        return false;
    const auto child = static_cast<std::int32_t>(tree.nodes.size());
    const auto& bins = rows_.bins.feature(split.feature);
    tree.nodes[parent.node] = to_node(split, child);
    auto& step = steps_[static_cast<std::size_t>(parent.node)];
    step.feature = static_cast<std::size_t>(split.feature);
    step.first = static_cast<std::size_t>(child);
    for (int b = 0; b < bins.n_bins; ++b)
        step.second[b >> 6] |= std::uint64_t{goes_second(bins, split, b)} << (b & 63);
    children.push_back(add_node(grown, parent.depth + 1, sums, tree));
    children.push_back(add_node(others, parent.depth + 1, rest, tree));
    depth_ = std::max(depth_, parent.depth + 1);
    return true;
}

// A node that the split of its level does not part takes part in the next level.
void BoostGrower::keep_whole(Open node, std::vector<Open>& children) const {
    ++node.depth;
    node.split = {};
    node.is_alone = true;
    node.is_counted = !node.histogram.empty();
    children.push_back(std::move(node));
}

std::vector<Slope> BoostGrower::sum_rows(std::span<const std::int32_t> rows) const {
    std::vector<Slope> sums(width_);
    for (const auto r : rows) {
        const auto* slope = task_->scratch.slope.data() + static_cast<std::size_t>(r) * width_;
        for (std::size_t k = 0; k < width_; ++k) sums[k] += slope[k];
    }
    return sums;
}

// Keep the values of new nodes between those of all nodes that must be less or greater.
void BoostGrower::bound_values(const Open& parent, std::span<Open> children,
                               BoostTree& tree) const {
    if (rules_.monotone.empty()) return;
    const auto clip = [&](Open& child) {
        auto& value = tree.value[static_cast<std::size_t>(child.node)];
        return value = std::clamp(value, child.least, child.most);
    };
    double middle = 0.0;
    for (auto& child : children) {
        child.least = parent.least;
        child.most = parent.most;
        middle += 0.5 * clip(child);
    }
    const auto direction = this->direction(parent.split.feature);
    if (direction == 0) return;
    children[direction > 0].least = children[direction < 0].most = middle;
    for (auto& child : children) clip(child);
}

// The best splits of nodes, siblings side by side; of symmetric trees one for all of them.
void BoostGrower::find_splits(std::span<Open> open) const {
    width_ == 1 ? find_splits_of_width<1>(open) : find_splits_of_width<0>(open);
}

template <int kWidth>
void BoostGrower::find_splits_of_width(std::span<Open> open) const {
    const auto groups = group_features();
    const auto n_groups = static_cast<std::int64_t>(groups.size()) - 1;
    std::vector<Split> found(static_cast<std::size_t>(n_groups) * open.size());
    parallel_for(n_groups, task_->n_threads, [&](std::int64_t g) {
        const bool is_last = groups[g + 1] == places_.size();
        Search<kWidth> search(*this,
                              std::span(places_).subspan(groups[g], groups[g + 1] - groups[g]),
                              is_last ? histogram_size_ : places_[groups[g + 1]].start);
        auto* own = found.data() + static_cast<std::size_t>(g) * open.size();
        const auto find = [&](std::size_t i) {
            if (rules_.symmetric)
                search.add_gains(open[i]);
            else
                own[i] = search.find(open[i]);
        };
        const auto count_and_find = [&](std::size_t i) {
            if (!worth_splitting(open[i])) return;
            if (open[i].is_counted)
                search.take_up(open[i]);
            else
                search.count(open[i]);
            find(i);
        };
        for (std::size_t i = 0; i < open.size(); i += open[i].is_alone ? 1 : 2) {
            if (open[i].is_alone) {
                count_and_find(i);
                continue;
            }
            const bool second = open[i].grown.size() < open[i + 1].grown.size();
            const auto larger = i + second, smaller = i + 1 - second;
            if (open[larger].histogram.empty() || !worth_splitting(open[larger])) {
                count_and_find(smaller);
                count_and_find(larger);
                continue;
            }
            search.count(open[smaller]);
            if (worth_splitting(open[smaller])) find(smaller);
            search.subtract_sibling(open[larger], open[smaller]);
            find(larger);
        }
        if (rules_.symmetric) std::fill_n(own, open.size(), search.find_common());
    });
    for (std::size_t at = 0; at < found.size(); ++at) {
        auto& best = open[at % open.size()].split;
        if (found[at].gain > best.gain) best = found[at];
    }
}

// Where the groups of features that are searched together begin, and one past the last.
std::vector<std::size_t> BoostGrower::group_features() const {
    const auto n_tasks = static_cast<std::size_t>(std::max(1, task_->n_threads));
    const auto share = (places_.size() + n_tasks - 1) / n_tasks;
    std::vector<std::size_t> groups{0};
    for (std::size_t f = 1; f < places_.size(); ++f) {
        const auto end = f + 1 < places_.size() ? places_[f + 1].start : histogram_size_;
        if (end - places_[groups.back()].start > kMaxSums || f - groups.back() >= share)
            groups.push_back(f);
    }
    groups.push_back(places_.size());
    return groups;
}

bool BoostGrower::worth_splitting(const Open& open) const {
    const auto* sums = sums_.data() + static_cast<std::size_t>(open.node) * width_;
    return open.grown.size() >= 2 && hessian_of(sums, width_) >= 2.0 * min_hessian_;
}

ForestNode BoostGrower::to_node(const Split& split, std::int32_t first) const {
    const auto& bins = rows_.bins.feature(split.feature);
    int second = 1 << ForestNode::kEqualTo;
    if (!bins.nominal)
        second =
            1 << ForestNode::kGreater | (split.missing_second ? 1 << ForestNode::kUnordered : 0);
    return {bins.edge[split.bin], first, split.feature << ForestNode::kPlaces | second};
}

bool BoostGrower::goes_second(const BoostBins::FeatureBins& bins, const Split& split, int bin) {
    if (bins.nominal) return bin == split.bin;
    return bin == bins.missing ? split.missing_second : bin > split.bin;
}

// Rows of the first child come first, both in their order; returns how many these are.
std::size_t BoostGrower::part(std::span<std::int32_t> rows, const Split& split) {
    const auto& bins = rows_.bins.feature(split.feature);
    const auto* column = rows_.bins.column(split.feature);
    const auto stride = rows_.bins.stride();
    std::uint8_t second[BoostBins::kMaxBins];
    for (int b = 0; b < bins.n_bins; ++b) second[b] = goes_second(bins, split, b);
    std::size_t n_first = 0, n_second = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
#ifdef __GNUC__
        if (stride > 1 && i + kAhead < rows.size())
            __builtin_prefetch(column + static_cast<std::size_t>(rows[i + kAhead]) * stride);
#endif
        const auto r = rows[i];
        rows[n_first] = r;
        spare_[n_second] = r;
        const std::size_t to_second = second[column[static_cast<std::size_t>(r) * stride]];
        n_first += 1 - to_second;
        n_second += to_second;
    }
    std::copy_n(spare_.begin(), n_second, rows.begin() + static_cast<std::ptrdiff_t>(n_first));
    return n_first;
}

void BoostGrower::add_to(std::span<double> score, const Open& leaf, const BoostTree& tree) const {
    const auto* value = tree.value.data() + static_cast<std::size_t>(leaf.node) * width_;
    for (const auto r : leaf.grown) add_value(score, r, value);
}

void BoostGrower::add_value(std::span<double> score, std::int32_t row, const double* value) const {
    for (std::size_t k = 0; k < width_; ++k)
        score[static_cast<std::size_t>(row) * width_ + k] += value[k];
}

}  // namespace priorwise
