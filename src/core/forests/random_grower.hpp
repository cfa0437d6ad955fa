// Growth of one random tree.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/fixed_log.hpp"
#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "forests/grow_random.hpp"
#include "trees/split_search.hpp"

namespace priorwise {

// Rows of a node: first those that grow the tree, then those that only count.
struct Segment {
    std::int32_t node, depth;
    std::int64_t begin, grow_end, end;
};

struct RandomSplit {
    std::int32_t feature = -1;
    double threshold = 0.0;  // or the code
    std::int32_t missing_value = kBelow;
    std::int64_t information = 0;
};

// What all growers of one tree share.
struct GrowerContext {
    const GrowthRules& rules;
    const FixedLog& xlogx;
    const std::vector<bool>& has_missing;
    Rng rng;
    std::vector<ForestNode> nodes;  // children are contiguous and come after their parent
    std::vector<double> gain;       // per node
    std::vector<std::int32_t> leaf_of_row;
};

template <class Weight>
class RandomGrower {
  public:
    using Count = typename Weight::Count;

    // row_of: the row that each of the grower's rows is in the tree; empty: the same.
    RandomGrower(GrowerContext& context, std::span<const Feature> features,
                 std::span<const std::int32_t> outcome, std::int32_t n_outcomes, Weight weight,
                 std::span<const std::int32_t> row_of)
        : context_(context),
          features_(features),
          outcome_(outcome),
          weight_of_(weight),
          row_of_(row_of),
          place_(static_cast<std::size_t>(n_outcomes), -1),
          deck_(features.size()) {
        std::iota(deck_.begin(), deck_.end(), 0);
        std::size_t row_bytes = 0;
        for (const auto& feature : features)
            row_bytes += feature.nominal() ? sizeof(std::int32_t) : sizeof(double);
        n_close_ = static_cast<std::int64_t>(kCloseBytes / std::max<std::size_t>(row_bytes, 1));
    }

    // Grow from a node with the rows given, those that grow the tree first.
    void grow(std::span<const std::int32_t> rows, std::int64_t grow_end, std::int32_t node,
              std::int32_t depth) {
        const auto n_rows = static_cast<std::int64_t>(rows.size());
        order_.assign(rows.begin(), rows.end());
        spare_.resize(order_.size());
        label_.resize(static_cast<std::size_t>(grow_end));
        weight_.resize(std::is_same_v<Weight, UnitWeight> ? 0 : label_.size());
        std::vector<Segment> open{{node, depth, 0, grow_end, n_rows}};
        while (!open.empty()) {
            const auto segment = open.back();
            open.pop_back();
            const auto size = segment.end - segment.begin;
            if (row_of_.empty() && size <= n_close_ && 2 * size <= n_rows && size > kFewRows) {
                grow_close(segment);
                continue;
            }
            const auto split =
                segment.depth < context_.rules.max_depth ? choose(segment) : RandomSplit{};
            if (split.feature >= 0)
                part(segment, split, open);
            else
                for (auto i = segment.begin; i < segment.end; ++i)
                    context_.leaf_of_row[global(order_[i])] = segment.node;
        }
    }

  private:
    static constexpr std::int64_t kFewRows = 16;

    std::size_t global(std::int32_t row) const {
        return static_cast<std::size_t>(row_of_.empty() ? row : row_of_[row]);
    }

    // A subtree whose rows fit into the cache grows on a copy of them.
    void grow_close(const Segment& segment) {
        const std::span rows(order_.data() + segment.begin,
                             static_cast<std::size_t>(segment.end - segment.begin));
        const auto n = rows.size();
        close_.copy(features_, outcome_, rows);
        Weight weight = weight_of_;
        if constexpr (std::is_same_v<Weight, WholeWeight>) {
            close_.whole_weight.resize(n);
            for (std::size_t i = 0; i < n; ++i) close_.whole_weight[i] = weight_of_.weight[rows[i]];
            weight.weight = close_.whole_weight.data();
        } else if constexpr (std::is_same_v<Weight, RealWeight>) {
            close_.weight.resize(n);
            for (std::size_t i = 0; i < n; ++i) close_.weight[i] = weight_of_.weight[rows[i]];
            weight.weight = close_.weight.data();
        }
        std::iota(spare_.begin(), spare_.begin() + static_cast<std::int64_t>(n), 0);
        RandomGrower(context_, close_.features, close_.outcome,
                     static_cast<std::int32_t>(place_.size()), weight, close_.row)
            .grow({spare_.data(), n}, segment.grow_end - segment.begin, segment.node,
                  segment.depth);
    }

    std::size_t below(std::size_t n) {
        return static_cast<std::size_t>(context_.rng.uniform() * static_cast<double>(n));
    }

    RandomSplit choose(const Segment& segment) {
        node_rows_ = {order_.data() + segment.begin,
                      static_cast<std::size_t>(segment.grow_end - segment.begin)};
        RandomSplit best;
        if (!count_node()) return best;
        const auto d = deck_.size();
        const auto wanted = context_.rules.max_features > 0
                                ? std::min(d, static_cast<std::size_t>(context_.rules.max_features))
                                : d;
        // Features beyond those wanted are only drawn while no split has been found.
        for (std::size_t drawn = 0; drawn < d && (drawn < wanted || best.feature < 0); ++drawn) {
            std::swap(deck_[drawn], deck_[drawn + below(d - drawn)]);
            const auto f = deck_[drawn];
            for (auto left = std::max(1, context_.rules.n_random_splits); left > 0; left -= 2) {
                poll_.add(std::ssize(node_rows_));
                if (!try_splits(f, left > 1, best)) break;
            }
        }
        if (best.feature >= 0)
            context_.gain[segment.node] = context_.xlogx.to_nats(context_.xlogx(node_total_) -
                                                                 node_terms_ - best.information);
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
            const auto k = outcome_[row];
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
        for (const auto n : node_) node_terms_ += context_.xlogx(n);
        side_.resize(2 * listed_.size());
        return listed_.size() >= 2 &&
               static_cast<double>(node_total_) >= 2.0 * context_.rules.min_samples_leaf;
    }

    // Draw one split of a feature, or two, and keep the better; false if its values are all alike.
    bool try_splits(std::int32_t f, bool two, RandomSplit& best) {
        std::array<RandomSplit, 2> split;
        const bool nominal = features_[f].nominal();
        range_known_ = false;
        for (std::size_t i = 0; i < (two ? 2 : 1); ++i) {
            if (nominal)
                draw_code(f, split[i]);
            else if (!draw_cut(f, split[i]))
                return false;
        }
        if (!two) split[1] = split[0];
        std::fill(side_.begin(), side_.end(), PairCount<Count>{});
        const auto& feature = features_[f];
        const double a = split[0].threshold, b = split[1].threshold;
        if (nominal) {
            const auto code_a = static_cast<std::int32_t>(a), code_b = static_cast<std::int32_t>(b);
            add_up([&](std::int32_t row) {
                const auto code = feature.code_at(row);
                return both_sides(code == code_a, code == code_b);
            });
        } else if (!context_.has_missing[f]) {
            add_up([&](std::int32_t row) {
                const double x = feature.number_at(row);
                return both_sides(x > a, x > b);
            });
        } else {
            const bool up_a = split[0].missing_value == kAbove;
            const bool up_b = split[1].missing_value == kAbove;
            add_up([&](std::int32_t row) {
                const double x = feature.number_at(row);
                const bool missing = std::isnan(x);
                return both_sides(x > a || (missing && up_a), x > b || (missing && up_b));
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

    // sides_of(row): on which side of either split a row is.
    template <class SidesOf>
    void add_up(SidesOf sides_of) {
        const auto n = node_rows_.size();
        const auto n_listed = listed_.size();
        if (n_listed == 2) {
            // Two outcomes: the sums of all rows and of the second outcome stay in registers.
            PairCount<Count> all, ones;
            for (std::size_t i = 0; i < n; ++i) {
                const auto sides = sides_of(node_rows_[i]);
                all.add(sides, weight_at(i));
                ones.add(sides & (Sides{0} - label_[i]), weight_at(i));
            }
            all.take(ones);
            side_[0] = all;
            side_[1] = ones;
            return;
        }
        // Even and odd rows have separate sums, so that an addition need not wait for the one
        // before.
        std::size_t i = 0;
        for (; i + 1 < n; i += 2) {
            side_[label_[i]].add(sides_of(node_rows_[i]), weight_at(i));
            side_[n_listed + label_[i + 1]].add(sides_of(node_rows_[i + 1]), weight_at(i + 1));
        }
        if (i < n) side_[label_[i]].add(sides_of(node_rows_[i]), weight_at(i));
        for (std::size_t k = 0; k < n_listed; ++k) side_[k].add(side_[n_listed + k]);
    }

    void draw_code(std::int32_t f, RandomSplit& split) {
        const auto code = features_[f].code_at(node_rows_[below(node_rows_.size())]);
        split = {f, static_cast<double>(code), kOther, 0};
    }

    bool draw_cut(std::int32_t f, RandomSplit& split) {
        const auto& feature = features_[f];
        double a = feature.number_at(node_rows_[below(node_rows_.size())]);
        double b = feature.number_at(node_rows_[below(node_rows_.size())]);
        if (!(a < b || b < a)) {  // alike or missing: the whole range of the node
            if (!range_known_) find_range(feature);
            a = least_;
            b = most_;
            if (!(a < b)) return false;
        }
        const double low = std::min(a, b), high = std::max(a, b);
        double cut = low + context_.rng.uniform() * (high - low);
        if (!(cut >= low && cut < high)) cut = low;
        split = {f, cut, context_.rng.uniform() < 0.5 ? kBelow : kAbove, 0};
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
        for (std::size_t k = 0; k < listed_.size(); ++k) {
            const auto [first, second] = side_[k].sums();
            n_side[0] += first;
            n_side[1] += second;
            inside[0] +=
                context_.xlogx(first) + context_.xlogx(std::max(node_[k] - first, Count{}));
            inside[1] +=
                context_.xlogx(second) + context_.xlogx(std::max(node_[k] - second, Count{}));
        }
        for (std::size_t i = 0; i < (two ? 2 : 1); ++i) {
            const auto n_rest = std::max(node_total_ - n_side[i], Count{});
            const auto smaller = static_cast<double>(std::min(n_side[i], n_rest));
            parts_rows = parts_rows && smaller > 0.0;
            if (smaller <= 0.0 || smaller < context_.rules.min_samples_leaf) continue;
            if (!context_.rules.monotone.empty() && !allows(split[i], i, n_side[i])) continue;
            split[i].information = context_.xlogx(n_side[i]) + context_.xlogx(n_rest) - inside[i];
            if (best.feature < 0 || split[i].information < best.information) best = split[i];
        }
        return parts_rows;
    }

    // Whether the split that is the first or the second of a pair keeps the order of its feature.
    bool allows(const RandomSplit& split, std::size_t which, Count n_above) const {
        Count ones_above{}, ones{};
        for (std::size_t k = 0; k < listed_.size(); ++k) {
            if (listed_[k] != 1) continue;
            const auto [first, second] = side_[k].sums();
            ones_above = which == 0 ? first : second;
            ones = node_[k];
        }
        return context_.rules.allows(split.feature, static_cast<double>(ones - ones_above),
                                     static_cast<double>(node_total_ - n_above),
                                     static_cast<double>(ones_above), static_cast<double>(n_above));
    }

    void part(const Segment& segment, const RandomSplit& split, std::vector<Segment>& open) {
        const auto& feature = features_[split.feature];
        const bool up = split.missing_value == kAbove;
        auto second = 1 << ForestNode::kEqualTo;
        if (!feature.nominal())
            second = 1 << ForestNode::kGreater | (up ? 1 << ForestNode::kUnordered : 0);
        context_.nodes[segment.node] = {split.threshold,
                                        static_cast<std::int32_t>(context_.nodes.size()),
                                        split.feature << ForestNode::kPlaces | second};
        if (feature.nominal()) {
            const auto code = static_cast<std::int32_t>(split.threshold);
            part_rows(segment, open,
                      [&](std::int32_t row) { return feature.code_at(row) == code; });
        } else {
            part_rows(segment, open, [&](std::int32_t row) {
                const double x = feature.number_at(row);
                return x > split.threshold || (up && std::isnan(x));
            });
        }
    }

    // Rows keep their order on both sides, so those that grow stay first.
    template <class Second>
    void part_rows(const Segment& segment, std::vector<Segment>& open, Second second) {
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
        const auto first = static_cast<std::int32_t>(context_.nodes.size());
        context_.nodes.resize(context_.nodes.size() + 2);
        context_.gain.resize(context_.nodes.size());
        open.push_back({first + 1, segment.depth + 1, kept, kept + moved_grow, segment.end});
        open.push_back({first, segment.depth + 1, segment.begin, kept_grow, kept});
    }

    GrowerContext& context_;
    WorkPoll poll_;
    std::span<const Feature> features_;
    std::span<const std::int32_t> outcome_;
    Weight weight_of_;
    std::span<const std::int32_t> row_of_;
    std::int64_t n_close_ = 0;                 // rows that fit into the cache
    CloseRows close_;                          // of the present subtree
    std::span<const std::int32_t> node_rows_;  // rows that grow the present node
    std::vector<std::int32_t> place_;          // per outcome: its place in listed_, or -1
    std::vector<std::int32_t> listed_;         // outcomes that occur in the node
    std::vector<Count> node_;                  // weight of each of them
    std::vector<PairCount<Count>> side_;       // the same on the second side of two splits, twice
    std::vector<std::uint32_t> label_;         // per row of the node: place of its outcome
    std::vector<Count> weight_;                // per row of the node
    bool range_known_ = false;                 // of the present feature
    double least_ = 0.0, most_ = 0.0;
    Count node_total_ = 0;
    std::int64_t node_terms_ = 0;
    std::vector<std::int32_t> deck_;           // features, shuffled as they are drawn
    std::vector<std::int32_t> order_, spare_;  // rows by node
};

}  // namespace priorwise
