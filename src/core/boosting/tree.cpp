#include "boosting/tree.hpp"

#include <algorithm>
#include <numeric>

#include "boosting/tally.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// Rows whose slopes stay in the nearest cache while feature after feature counts them.
constexpr std::size_t kBlock = 256;
// Size of the sums of the features that are counted together: they fit in the second-level cache.
constexpr std::size_t kMaxSums = 1 << 14;
// With fewer rows than this, every other row has no sums of its own.
constexpr std::size_t kMinRowsToAlternate = 1024;
// Numbers in the histograms that are kept for the nodes of a level.
constexpr std::size_t kMaxKept = 1 << 22;
constexpr std::int32_t kMaxKeptDepth = 22;

double total(const double* values, std::size_t n) {
    return std::accumulate(values, values + n, 0.0);
}

}  // namespace

// The best split of a few neighbouring features at one node after the other.
class BoostGrower::Search {
  public:
    Search(const BoostGrower& grower, std::int32_t begin, std::int32_t end)
        : grower_(grower),
          begin_(begin),
          end_(end),
          width_(grower.width_),
          size_(slope_size(width_)),
          first_sum_(grower.feature_start_[begin]),
          n_sums_(grower.feature_start_[end] - first_sum_),
          tally_(tally_of(size_)),
          slope_(kBlock * size_),
          odd_(n_sums_),
          scratch_(n_sums_),
          first_(2 * width_),
          quotient_(width_) {}

    // Count the bins of a node; its histogram is filled if it is kept.
    void count(Open& open) {
        hist_ = histogram_of(open);
        std::fill_n(hist_, n_sums_, 0.0);
        sum_bins(open.learnt);
    }

    // The node's histogram, which is that of its parent, becomes the parent's less the sibling's.
    void subtract_sibling(Open& open, Open& sibling) {
        hist_ = histogram_of(open);
        const auto* other = histogram_of(sibling);
        for (std::size_t j = 0; j < n_sums_; ++j) hist_[j] -= other[j];
    }

    // The best split of a node whose bins were counted last.
    Split find(const Open& open) {
        all_ = grower_.sums_.data() + static_cast<std::size_t>(open.node) * 2 * width_;
        all_hessian_ = total(all_ + width_, width_);
        unsplit_ = score(all_);
        best_ = {};
        for (feature_ = begin_; feature_ < end_; ++feature_) {
            bins_ = &grower_.rows_.bins.of(feature_);
            std::fill(first_.begin(), first_.end(), 0.0);
            if (bins_->nominal)
                try_codes();
            else
                try_cuts();
        }
        return best_;
    }

  private:
    double* histogram_of(Open& open) {
        return open.histogram.empty() ? scratch_.data() : open.histogram.data() + first_sum_;
    }

    void sum_bins(std::span<const std::int32_t> rows) {
        const bool alternate = rows.size() >= kMinRowsToAlternate;
        auto* odd = alternate ? odd_.data() : hist_;
        if (alternate) std::fill(odd_.begin(), odd_.end(), 0.0);
        for (std::size_t at = 0; at < rows.size(); at += kBlock) {
            poll_every<16 * kBlock>(at);
            tally_block(rows.subspan(at, std::min(kBlock, rows.size() - at)), odd);
        }
        if (!alternate) return;
        for (std::size_t j = 0; j < n_sums_; ++j) hist_[j] += odd_[j];
    }

    void tally_block(std::span<const std::int32_t> rows, double* odd) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            std::copy_n(grower_.slope_.data() + static_cast<std::size_t>(rows[i]) * size_, size_,
                        slope_.data() + i * size_);
        for (auto f = begin_; f < end_; ++f) {
            const auto start = grower_.feature_start_[f] - first_sum_;
            tally_(grower_.rows_.bins.column(f), rows, slope_.data(), size_, hist_ + start,
                   odd + start);
        }
    }

    const double* bin(int b) const {
        return hist_ + grower_.feature_start_[feature_] - first_sum_ +
               static_cast<std::size_t>(b) * size_;
    }
    void add(const double* sums) {
        for (std::size_t j = 0; j < 2 * width_; ++j) first_[j] += sums[j];
    }
    void subtract(const double* sums) {
        for (std::size_t j = 0; j < 2 * width_; ++j) first_[j] -= sums[j];
    }

    bool is_empty(const double* sums) const { return total(sums + width_, width_) <= 0.0; }

    void try_codes() {
        for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
            if (is_empty(bin(b))) continue;
            std::copy_n(bin(b), 2 * width_, first_.begin());
            consider(b, false);
        }
    }

    void try_cuts() {
        const auto* missing = bins_->missing < 0 ? nullptr : bin(bins_->missing);
        if (missing && is_empty(missing)) missing = nullptr;
        for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
            if (is_empty(bin(b))) continue;
            add(bin(b));
            // If no value is missing here, missing ones go to the side of larger weight in
            // prediction.
            consider(b, missing || 2.0 * total(first_.data() + width_, width_) < all_hessian_);
            if (!missing) continue;
            add(missing);
            consider(b, false);
            subtract(missing);
        }
    }

    // The split that puts the rows summed up in first_ on one side.
    void consider(int b, bool missing_second) {
        const double hessian = total(first_.data() + width_, width_);
        const double least = grower_.rules_.min_hessian;
        if (hessian < least || all_hessian_ - hessian < least) return;
        const double gain = score(first_.data()) + score_of_rest() - unsplit_;
        if (gain > best_.gain && is_in_order()) best_ = {gain, feature_, b, missing_second};
    }

    // Whether the values of both sides are ordered as those of a monotone feature must be.
    bool is_in_order() const {
        const auto direction = grower_.direction(feature_);
        if (direction == 0) return true;
        const double l2 = grower_.rules_.l2;
        const double first = -first_[0] / (first_[1] + l2);
        const double rest = -(all_[0] - first_[0]) / (std::max(all_[1] - first_[1], 0.0) + l2);
        return direction > 0 ? first <= rest : first >= rest;
    }

    // sum_k G_k^2 / (H_k + l2); quotients first, which the compiler takes several at a time.
    double score(const double* sums) {
        const double l2 = grower_.rules_.l2;
        for (std::size_t k = 0; k < width_; ++k)
            quotient_[k] = sums[k] * sums[k] / (sums[width_ + k] + l2);
        return total(quotient_.data(), width_);
    }
    double score_of_rest() {
        const double l2 = grower_.rules_.l2;
        for (std::size_t k = 0; k < width_; ++k) {
            const double g = all_[k] - first_[k];
            const double h = std::max(all_[width_ + k] - first_[width_ + k], 0.0);
            quotient_[k] = g * g / (h + l2);
        }
        return total(quotient_.data(), width_);
    }

    const BoostGrower& grower_;
    std::int32_t begin_, end_;
    std::size_t width_, size_;        // scores, and numbers of a slope
    std::size_t first_sum_, n_sums_;  // the part of a histogram that the features have
    Tally tally_;
    std::vector<double> slope_, odd_, scratch_;
    std::vector<double> first_, quotient_;
    double* hist_ = nullptr;    // bins x size, of the node searched now
    std::int32_t feature_ = 0;  // searched now
    const BoostBins::Of* bins_ = nullptr;
    const double* all_ = nullptr;
    double all_hessian_ = 0.0, unsplit_ = 0.0;
    Split best_;
};

BoostGrower::BoostGrower(const BoostRows& rows, const BoostRules& rules,
                         std::vector<std::int32_t> learnt, std::vector<std::int32_t> held)
    : rows_(rows),
      rules_(rules),
      width_(static_cast<std::size_t>(rows.width())),
      learnt_(std::move(learnt)),
      held_(std::move(held)),
      spare_(std::max(learnt_.size(), held_.size())) {
    feature_start_.push_back(0);
    for (std::int32_t f = 0; f < rows.bins.n_features(); ++f)
        feature_start_.push_back(feature_start_.back() +
                                 static_cast<std::size_t>(rows.bins.of(f).n_bins) *
                                     slope_size(width_));
}

BoostTree BoostGrower::grow(BoostScratch& scratch, std::span<double> score, int n_threads) {
    slope_ = scratch.slope;
    spare_histograms_ = &scratch.histograms;
    learnt_at_ = learnt_;
    held_at_ = held_;
    sums_.clear();
    BoostTree tree;
    std::vector<Open> open, next;
    open.push_back(add_node(learnt_at_, held_at_, tree));
    give_histograms({}, open);
    for (std::int32_t depth = 0; !open.empty(); ++depth) {
        const bool last = depth == rules_.max_depth;
        const auto splits = last ? std::vector<Split>(open.size()) : find_splits(open, n_threads);
        next.clear();
        for (std::size_t i = 0; i < open.size(); ++i) {
            auto& [node, learnt, held, histogram, least, most] = open[i];
            if (splits[i].feature < 0) {
                add_to(score, open[i], tree);
                if (!histogram.empty()) spare_histograms_->push_back(std::move(histogram));
                continue;
            }
            tree.nodes[node] = to_node(splits[i], static_cast<std::int32_t>(tree.nodes.size()));
            const auto learnt_first = part(learnt, splits[i]), held_first = part(held, splits[i]);
            next.push_back(add_node(learnt.first(learnt_first), held.first(held_first), tree));
            next.push_back(add_node(learnt.subspan(learnt_first), held.subspan(held_first), tree));
            bound_values(open[i], splits[i], std::span(next).last(2), tree);
            give_histograms(std::move(histogram), std::span(next).last(2));
        }
        std::swap(open, next);
    }
    return tree;
}

// Memory for the histograms of nodes: the child of more rows takes over that of its parent.
void BoostGrower::give_histograms(Histogram parent, std::span<Open> children) {
    const auto size = feature_start_.back();
    // A level has at most so many nodes.
    if (rules_.max_depth > kMaxKeptDepth || size > kMaxKept >> rules_.max_depth) return;
    for (auto& child : children) {
        if (spare_histograms_->empty())
            child.histogram.resize(size);
        else {
            child.histogram = std::move(spare_histograms_->back());
            spare_histograms_->pop_back();
        }
    }
    if (parent.empty()) return;
    auto& larger = children[children[0].learnt.size() < children[1].learnt.size()];
    std::swap(larger.histogram, parent);
    spare_histograms_->push_back(std::move(parent));
}

BoostGrower::Open BoostGrower::add_node(std::span<std::int32_t> learnt,
                                        std::span<std::int32_t> held, BoostTree& tree) {
    const auto node = static_cast<std::int32_t>(tree.nodes.size());
    tree.nodes.push_back({0.0, node, 0});
    sums_.resize(sums_.size() + 2 * width_);
    auto* sums = sums_.data() + sums_.size() - 2 * width_;
    for (const auto r : learnt) {
        const auto* own = slope_.data() + static_cast<std::size_t>(r) * slope_size(width_);
        for (std::size_t j = 0; j < 2 * width_; ++j) sums[j] += own[j];
    }
    for (std::size_t k = 0; k < width_; ++k)
        tree.value.push_back(-rules_.rate * sums[k] / (sums[width_ + k] + rules_.l2));
    return {node, learnt, held, {}};
}

// Keep the values of new nodes between those of all nodes that must be less or greater.
void BoostGrower::bound_values(const Open& parent, const Split& split, std::span<Open> children,
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
    const auto direction = this->direction(split.feature);
    if (direction == 0) return;
    children[direction > 0].least = children[direction < 0].most = middle;
    for (auto& child : children) clip(child);
}

std::vector<BoostGrower::Split> BoostGrower::find_splits(std::vector<Open>& open,
                                                         int n_threads) const {
    const auto groups = group_features(n_threads);
    const auto n_groups = static_cast<std::int64_t>(groups.size()) - 1;
    std::vector<Split> found(static_cast<std::size_t>(n_groups) * open.size());
    parallel_for(n_groups, n_threads, [&](std::int64_t g) {
        Search search(*this, groups[g], groups[g + 1]);
        auto* own = found.data() + static_cast<std::size_t>(g) * open.size();
        const auto count_and_find = [&](std::size_t i) {
            if (!worth_splitting(open[i])) return;
            search.count(open[i]);
            own[i] = search.find(open[i]);
        };
        if (open.size() == 1) return count_and_find(0);
        for (std::size_t i = 0; i < open.size(); i += 2) {
            const bool second = open[i].learnt.size() < open[i + 1].learnt.size();
            const auto larger = i + second, smaller = i + 1 - second;
            if (open[larger].histogram.empty() || !worth_splitting(open[larger])) {
                count_and_find(smaller);
                count_and_find(larger);
                continue;
            }
            search.count(open[smaller]);
            if (worth_splitting(open[smaller])) own[smaller] = search.find(open[smaller]);
            search.subtract_sibling(open[larger], open[smaller]);
            own[larger] = search.find(open[larger]);
        }
    });
    std::vector<Split> best(open.size());
    for (std::size_t at = 0; at < found.size(); ++at) {
        auto& kept = best[at % open.size()];
        if (found[at].gain > kept.gain) kept = found[at];
    }
    return best;
}

// Where the groups of features that are searched together begin, and one past the last.
std::vector<std::int32_t> BoostGrower::group_features(int n_threads) const {
    const auto n_features = rows_.bins.n_features();
    const auto n_tasks = n_threads > 1 ? 2 * n_threads : 1;
    const auto share = (n_features + n_tasks - 1) / n_tasks;
    std::vector<std::int32_t> groups{0};
    std::size_t n_sums = 0;
    for (std::int32_t f = 0; f < n_features; ++f) {
        const auto own = static_cast<std::size_t>(rows_.bins.of(f).n_bins) * slope_size(width_);
        if (f > groups.back() && (n_sums + own > kMaxSums || f - groups.back() >= share)) {
            groups.push_back(f);
            n_sums = 0;
        }
        n_sums += own;
    }
    groups.push_back(n_features);
    return groups;
}

bool BoostGrower::worth_splitting(const Open& open) const {
    const auto* hessian = sums_.data() + static_cast<std::size_t>(open.node) * 2 * width_ + width_;
    return open.learnt.size() >= 2 && total(hessian, width_) >= 2.0 * rules_.min_hessian;
}

ForestNode BoostGrower::to_node(const Split& split, std::int32_t first) const {
    const auto& bins = rows_.bins.of(split.feature);
    int second = 1 << ForestNode::kEqualTo;
    if (!bins.nominal)
        second =
            1 << ForestNode::kGreater | (split.missing_second ? 1 << ForestNode::kUnordered : 0);
    return {bins.edge[split.bin], first, split.feature << ForestNode::kPlaces | second};
}

// Rows of the first child come first, both in their order; returns how many these are.
std::size_t BoostGrower::part(std::span<std::int32_t> rows, const Split& split) {
    const auto& bins = rows_.bins.of(split.feature);
    const auto* column = rows_.bins.column(split.feature);
    std::uint8_t second[BoostBins::kMaxBins];
    for (int b = 0; b < bins.n_bins; ++b)
        second[b] = bins.nominal        ? b == split.bin
                    : b == bins.missing ? split.missing_second
                                        : b > split.bin;
    std::size_t n_first = 0, n_second = 0;
    for (const auto r : rows) {
        rows[n_first] = r;
        spare_[n_second] = r;
        const std::size_t to_second = second[column[r]];
        n_first += 1 - to_second;
        n_second += to_second;
    }
    std::copy_n(spare_.begin(), n_second, rows.begin() + static_cast<std::ptrdiff_t>(n_first));
    return n_first;
}

void BoostGrower::add_to(std::span<double> score, const Open& leaf, const BoostTree& tree) const {
    const auto* value = tree.value.data() + static_cast<std::size_t>(leaf.node) * width_;
    for (const auto rows : {leaf.learnt, leaf.held})
        for (const auto r : rows)
            for (std::size_t k = 0; k < width_; ++k)
                score[static_cast<std::size_t>(r) * width_ + k] += value[k];
}

}  // namespace priorwise
