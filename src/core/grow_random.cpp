#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "fixed_log.hpp"
#include "grow_random.hpp"
#include "rng.hpp"
#include "split_search.hpp"

namespace priorwise {
namespace {

// Rows of a node: those that grow the tree first, then those that only count.
struct Segment {
    std::int32_t node;
    std::int64_t begin, grow_end, end;
};

struct RandomSplit {
    std::int32_t feature = -1;
    double threshold = 0.0;  // or the code
    std::int32_t missing_value = kBelow;
    std::int64_t information = 0;
};

// What the rows of one outcome weigh on the second side of two splits.
template <class Count>
struct PairCount {
    Count first{}, second{};

    void add(bool one, bool two, Count weight) {
        first += one ? weight : Count{};
        second += two ? weight : Count{};
    }
};

// Whole weights: both in one word, so that a row is one addition.
template <>
struct PairCount<std::int64_t> {
    std::uint64_t both = 0;

    void add(bool one, bool two, std::int64_t weight) {
        both += (static_cast<std::uint64_t>(one) | static_cast<std::uint64_t>(two) << 32) *
                static_cast<std::uint64_t>(weight);
    }
};

template <class Count>
std::pair<Count, Count> sums_of(const PairCount<Count>& sum) {
    if constexpr (std::is_integral_v<Count>)
        return {static_cast<Count>(sum.both & 0xFFFFFFFFU), static_cast<Count>(sum.both >> 32)};
    else
        return {sum.first, sum.second};
}

template <class Weight>
class RandomGrower {
  public:
    using Count = typename Weight::Count;

    RandomGrower(const GrowthRows& rows, const GrowthRules& rules, const FixedLog& xlogx,
                 const std::vector<bool>& has_missing, Weight weight)
        : rows_(rows),
          rules_(rules),
          xlogx_(xlogx),
          has_missing_(has_missing),
          weight_of_(weight),
          rng_(rules.seed),
          place_(rows.n_outcomes, -1),
          deck_(rows.features.size()) {
        std::iota(deck_.begin(), deck_.end(), 0);
    }

    GrownTree grow() {
        std::vector<Segment> level{plant()}, next;
        for (std::int32_t depth = 0; !level.empty(); ++depth) {
            next.clear();
            for (const auto& segment : level) {
                const auto split = depth < rules_.max_depth ? choose(segment) : RandomSplit{};
                if (split.feature >= 0)
                    part(segment, split, next);
                else
                    for (auto i = segment.begin; i < segment.end; ++i)
                        tree_.leaf_of_row[order_[i]] = segment.node;
            }
            if (!next.empty())
                tree_.level_start.push_back(static_cast<std::int64_t>(tree_.parent.size()));
            std::swap(level, next);
        }
        return std::move(tree_);
    }

  private:
    Segment plant() {
        tree_.add_node(-1, -1);
        tree_.level_start = {0, 1};
        tree_.leaf_of_row.assign(static_cast<std::size_t>(rows_.n_rows), -1);
        order_.reserve(static_cast<std::size_t>(rows_.n_rows));
        for (std::int64_t r = 0; r < rows_.n_rows; ++r)
            if (rows_.growth(r) > 0.0) order_.push_back(static_cast<std::int32_t>(r));
        const auto grow_end = static_cast<std::int64_t>(order_.size());
        for (std::int64_t r = 0; r < rows_.n_rows; ++r)
            if (rows_.growth(r) <= 0.0 && rows_.kept(r))
                order_.push_back(static_cast<std::int32_t>(r));
        spare_.resize(order_.size());
        label_.resize(static_cast<std::size_t>(grow_end));
        weight_.resize(std::is_same_v<Weight, UnitWeight> ? 0 : label_.size());
        return {0, 0, grow_end, static_cast<std::int64_t>(order_.size())};
    }

    std::size_t below(std::size_t n) {
        return static_cast<std::size_t>(rng_.uniform() * static_cast<double>(n));
    }

    RandomSplit choose(const Segment& segment) {
        node_rows_ = {order_.data() + segment.begin,
                      static_cast<std::size_t>(segment.grow_end - segment.begin)};
        RandomSplit best;
        if (!count_node()) return best;
        const auto d = deck_.size();
        const auto wanted = rules_.max_features > 0
                                ? std::min(d, static_cast<std::size_t>(rules_.max_features))
                                : d;
        // Features beyond those wanted are only drawn while no split has been found.
        for (std::size_t drawn = 0; drawn < d && (drawn < wanted || best.feature < 0); ++drawn) {
            std::swap(deck_[drawn], deck_[drawn + below(d - drawn)]);
            const auto f = deck_[drawn];
            for (auto left = std::max(1, rules_.n_random_splits); left > 0; left -= 2)
                if (!try_splits(f, left > 1, best)) break;
        }
        if (best.feature >= 0)
            tree_.gain[segment.node] =
                xlogx_.to_nats(xlogx_(node_total_) - node_terms_ - best.information);
        return best;
    }

    // Whether the node has weight enough and more than one outcome.
    bool count_node() {
        for (const auto k : listed_) place_[k] = -1;
        listed_.clear();
        node_.clear();
        node_total_ = 0;
        for (std::size_t i = 0; i < node_rows_.size(); ++i) {
            const auto row = node_rows_[i];
            const auto k = rows_.outcome[row];
            if (place_[k] < 0) {
                place_[k] = static_cast<std::int32_t>(listed_.size());
                listed_.push_back(k);
                node_.push_back(0);
            }
            const auto weight = weight_of_(row);
            label_[i] = static_cast<std::uint32_t>(place_[k]);
            if constexpr (!std::is_same_v<Weight, UnitWeight>) weight_[i] = weight;
            node_[place_[k]] += weight;
            node_total_ += weight;
        }
        node_terms_ = 0;
        for (const auto n : node_) node_terms_ += xlogx_(n);
        side_.resize(listed_.size());
        return listed_.size() >= 2 &&
               static_cast<double>(node_total_) >= 2.0 * rules_.min_samples_leaf;
    }

    // Draw one split of a feature, or two, and keep the better; false if its values are all alike.
    bool try_splits(std::int32_t f, bool two, RandomSplit& best) {
        std::array<RandomSplit, 2> split;
        const bool nominal = rows_.features[f].nominal();
        range_known_ = false;
        for (std::size_t i = 0; i < (two ? 2 : 1); ++i) {
            if (nominal)
                draw_code(f, split[i]);
            else if (!draw_cut(f, split[i]))
                return false;
        }
        if (!two) split[1] = split[0];
        std::fill(side_.begin(), side_.end(), PairCount<Count>{});
        const auto& feature = rows_.features[f];
        const double a = split[0].threshold, b = split[1].threshold;
        if (nominal) {
            const auto code_a = static_cast<std::int32_t>(a), code_b = static_cast<std::int32_t>(b);
            add_up([&](std::int32_t row) {
                const auto code = feature.code_at(row);
                return std::pair(code == code_a, code == code_b);
            });
        } else if (!has_missing_[f]) {
            add_up([&](std::int32_t row) {
                const double x = feature.number_at(row);
                return std::pair(x > a, x > b);
            });
        } else {
            const bool up_a = split[0].missing_value == kAbove;
            const bool up_b = split[1].missing_value == kAbove;
            add_up([&](std::int32_t row) {
                const double x = feature.number_at(row);
                const bool missing = std::isnan(x);
                return std::pair(missing ? up_a : x > a, missing ? up_b : x > b);
            });
        }
        return keep_better(split, two, best);
    }

    Count weight_at([[maybe_unused]] std::size_t i) const {
        if constexpr (std::is_same_v<Weight, UnitWeight>)
            return 1;
        else
            return weight_[i];
    }

    // sides(row): whether a row is on the second side of either split.
    template <class Sides>
    void add_up(Sides sides) {
        const auto n = node_rows_.size();
        if (side_.size() == 2) {
            // Registers: all rows, and those of the second outcome.
            PairCount<Count> all, ones;
            for (std::size_t i = 0; i < n; ++i) {
                const auto [one, two] = sides(node_rows_[i]);
                const auto weight = weight_at(i);
                all.add(one, two, weight);
                ones.add(one, two, weight * static_cast<Count>(label_[i]));
            }
            side_[1] = ones;
            if constexpr (std::is_integral_v<Count>)
                side_[0].both = all.both - ones.both;
            else
                side_[0] = {all.first - ones.first, all.second - ones.second};
            return;
        }
        for (std::size_t i = 0; i < n; ++i) {
            const auto [one, two] = sides(node_rows_[i]);
            side_[label_[i]].add(one, two, weight_at(i));
        }
    }

    void draw_code(std::int32_t f, RandomSplit& split) {
        const auto code = rows_.features[f].code_at(node_rows_[below(node_rows_.size())]);
        split = {f, static_cast<double>(code), kOther, 0};
    }

    bool draw_cut(std::int32_t f, RandomSplit& split) {
        const auto& feature = rows_.features[f];
        double a = feature.number_at(node_rows_[below(node_rows_.size())]);
        double b = feature.number_at(node_rows_[below(node_rows_.size())]);
        if (!(a < b || b < a)) {  // alike or missing: the whole range of the node
            if (!range_known_) find_range(feature);
            a = least_;
            b = most_;
            if (!(a < b)) return false;
        }
        const double low = std::min(a, b), high = std::max(a, b);
        double cut = low + rng_.uniform() * (high - low);
        if (!(cut >= low && cut < high)) cut = low;
        split = {f, cut, rng_.uniform() < 0.5 ? kBelow : kAbove, 0};
        return true;
    }

    void find_range(const Feature& feature) {
        least_ = std::numeric_limits<double>::infinity();
        most_ = -least_;
        for (const auto row : node_rows_) {
            const double x = feature.number_at(row);
            least_ = x < least_ ? x : least_;
            most_ = x > most_ ? x : most_;
        }
        range_known_ = true;
    }

    // False if every row is on one side of a split.
    bool keep_better(std::array<RandomSplit, 2>& split, bool two, RandomSplit& best) {
        bool parts_rows = true;
        std::array<Count, 2> n_side{};
        std::array<std::int64_t, 2> inside{};
        for (std::size_t k = 0; k < side_.size(); ++k) {
            const auto [first, second] = sums_of(side_[k]);
            n_side[0] += first;
            n_side[1] += second;
            inside[0] += xlogx_(first) + xlogx_(std::max(node_[k] - first, Count{}));
            inside[1] += xlogx_(second) + xlogx_(std::max(node_[k] - second, Count{}));
        }
        for (std::size_t i = 0; i < (two ? 2 : 1); ++i) {
            const auto n_rest = std::max(node_total_ - n_side[i], Count{});
            const auto smaller = static_cast<double>(std::min(n_side[i], n_rest));
            parts_rows = parts_rows && smaller > 0.0;
            if (smaller <= 0.0 || smaller < rules_.min_samples_leaf) continue;
            split[i].information = xlogx_(n_side[i]) + xlogx_(n_rest) - inside[i];
            if (best.feature < 0 || split[i].information < best.information) best = split[i];
        }
        return parts_rows;
    }

    void part(const Segment& segment, const RandomSplit& split, std::vector<Segment>& next) {
        const auto& feature = rows_.features[split.feature];
        tree_.feature[segment.node] = split.feature;
        tree_.threshold[segment.node] = split.threshold;
        tree_.missing_value[segment.node] = split.missing_value;
        tree_.kind[segment.node] =
            static_cast<std::uint8_t>(feature.nominal() ? SplitKind::kEqual : SplitKind::kNumeric);
        if (feature.nominal()) {
            const auto code = static_cast<std::int32_t>(split.threshold);
            part_rows(segment, next,
                      [&](std::int32_t row) { return feature.code_at(row) == code; });
        } else {
            const bool up = split.missing_value == kAbove;
            part_rows(segment, next, [&](std::int32_t row) {
                const double x = feature.number_at(row);
                return std::isnan(x) ? up : x > split.threshold;
            });
        }
    }

    // Rows keep their order on both sides, so those that grow stay first.
    template <class Second>
    void part_rows(const Segment& segment, std::vector<Segment>& next, Second second) {
        auto kept = segment.begin;
        std::int64_t moved = 0, kept_grow = kept, moved_grow = 0;
        for (auto i = segment.begin; i < segment.end; ++i) {
            if (i == segment.grow_end) kept_grow = kept, moved_grow = moved;
            const auto row = order_[i];
            const bool moves = second(row);
            order_[kept] = row;
            spare_[moved] = row;
            kept += !moves;
            moved += moves;
        }
        if (segment.grow_end == segment.end) kept_grow = kept, moved_grow = moved;
        std::copy_n(spare_.begin(), moved, order_.begin() + kept);
        const auto first = tree_.add_node(segment.node, 0);
        const auto other = tree_.add_node(segment.node, 1);
        next.push_back({first, segment.begin, kept_grow, kept});
        next.push_back({other, kept, kept + moved_grow, segment.end});
    }

    const GrowthRows& rows_;
    const GrowthRules& rules_;
    const FixedLog& xlogx_;
    const std::vector<bool>& has_missing_;
    Weight weight_of_;
    Rng rng_;
    std::span<const std::int32_t> node_rows_;  // rows that grow the node at hand
    std::vector<std::int32_t> place_;          // per outcome: its place in listed_, or -1
    std::vector<std::int32_t> listed_;         // outcomes that occur in the node
    std::vector<Count> node_;                  // weight of each of them
    std::vector<PairCount<Count>> side_;       // the same on the second side of two splits
    std::vector<std::uint32_t> label_;         // per row of the node: place of its outcome
    std::vector<Count> weight_;                // per row of the node
    bool range_known_ = false;                 // of the feature at hand
    double least_ = 0.0, most_ = 0.0;
    Count node_total_ = 0;
    std::int64_t node_terms_ = 0;
    std::vector<std::int32_t> deck_;           // features, shuffled as they are drawn
    std::vector<std::int32_t> order_, spare_;  // rows by node
    GrownTree tree_;
};

}  // namespace

RandomGrowth::RandomGrowth(std::span<const Feature> features, std::int64_t n_rows,
                           double total_weight)
    : xlogx_(total_weight, n_rows), has_missing_(features.size()) {
    for (std::size_t f = 0; f < features.size(); ++f)
        for (std::int64_t r = 0; !features[f].nominal() && r < n_rows && !has_missing_[f]; ++r)
            has_missing_[f] = std::isnan(features[f].number_at(r));
}

GrownTree RandomGrowth::grow(const GrowthRows& rows, const GrowthRules& rules) const {
    bool unit = true, whole = true;
    double total = 0.0;
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        const double weight = rows.growth(r);
        unit = unit && (weight == 0.0 || weight == 1.0);
        whole = whole && weight == std::floor(weight);
        total += weight;
    }
    whole = whole && total < 0x1p31;
    if (unit && whole) return RandomGrower(rows, rules, xlogx_, has_missing_, UnitWeight{}).grow();
    if (!whole)
        return RandomGrower(rows, rules, xlogx_, has_missing_, RealWeight{rows.grow_weight}).grow();
    const std::vector<std::int32_t> weight(rows.grow_weight, rows.grow_weight + rows.n_rows);
    return RandomGrower(rows, rules, xlogx_, has_missing_, WholeWeight{weight.data()}).grow();
}

GrownTree grow_random_tree(const GrowthRows& rows, const GrowthRules& rules) {
    double total = 0.0;
    for (std::int64_t r = 0; r < rows.n_rows; ++r) total += rows.growth(r);
    return RandomGrowth(rows.features, rows.n_rows, total).grow(rows, rules);
}

}  // namespace priorwise
