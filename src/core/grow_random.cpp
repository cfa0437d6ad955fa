#include <algorithm>
#include <cmath>
#include <numeric>

#include "fixed_log.hpp"
#include "rng.hpp"
#include "splits.hpp"

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

class RandomGrower {
  public:
    RandomGrower(const GrowthRows& rows, const GrowthRules& rules)
        : rows_(rows),
          rules_(rules),
          xlogx_(total_weight(rows), rows.n_rows),
          rng_(rules.seed),
          node_(rows.n_outcomes),
          side_(rows.n_outcomes),
          deck_(rows.features.size()) {
        std::iota(deck_.begin(), deck_.end(), 0);
    }

    GrownTree grow() {
        std::vector<Segment> level{plant()}, next;
        for (std::int32_t depth = 0; !level.empty() && depth < rules_.max_depth; ++depth) {
            next.clear();
            for (const auto& segment : level) {
                const auto split = choose(segment);
                if (split.feature >= 0) part(segment, split, next);
            }
            if (next.empty()) break;
            tree_.level_start.push_back(static_cast<std::int64_t>(tree_.parent.size()));
            std::swap(level, next);
        }
        return std::move(tree_);
    }

  private:
    static double total_weight(const GrowthRows& rows) {
        double total = 0.0;
        for (std::int64_t r = 0; r < rows.n_rows; ++r) total += rows.growth(r);
        return total;
    }

    Segment plant() {
        tree_.add_node(-1, -1);
        tree_.level_start = {0, 1};
        tree_.leaf_of_row.assign(static_cast<std::size_t>(rows_.n_rows), -1);
        for (std::int64_t r = 0; r < rows_.n_rows; ++r)
            if (rows_.growth(r) > 0.0) order_.push_back(static_cast<std::int32_t>(r));
        const auto grow_end = static_cast<std::int64_t>(order_.size());
        for (std::int64_t r = 0; r < rows_.n_rows; ++r)
            if (rows_.growth(r) <= 0.0 && rows_.kept(r))
                order_.push_back(static_cast<std::int32_t>(r));
        for (const auto row : order_) tree_.leaf_of_row[row] = 0;
        spare_.resize(order_.size());
        return {0, 0, grow_end, static_cast<std::int64_t>(order_.size())};
    }

    std::span<const std::int32_t> growth_rows(const Segment& segment) const {
        return {order_.data() + segment.begin,
                static_cast<std::size_t>(segment.grow_end - segment.begin)};
    }

    std::size_t below(std::size_t n) {
        return static_cast<std::size_t>(rng_.uniform() * static_cast<double>(n));
    }

    RandomSplit choose(const Segment& segment) {
        const auto rows = growth_rows(segment);
        RandomSplit best;
        if (!count_node(rows)) return best;
        const auto d = deck_.size();
        const auto wanted = rules_.max_features > 0
                                ? std::min(d, static_cast<std::size_t>(rules_.max_features))
                                : d;
        // Features beyond those wanted are only drawn while no split has been found.
        for (std::size_t drawn = 0; drawn < d && (drawn < wanted || best.feature < 0); ++drawn) {
            std::swap(deck_[drawn], deck_[drawn + below(d - drawn)]);
            const auto f = deck_[drawn];
            for (std::int32_t i = 0; i < std::max(1, rules_.n_random_splits); ++i) {
                RandomSplit split;
                if (rows_.features[f].nominal() ? draw_code(f, rows, split)
                                                : draw_cut(f, rows, split))
                    keep_better(rows, split, best);
            }
        }
        if (best.feature >= 0)
            tree_.gain[segment.node] =
                xlogx_.to_nats(xlogx_(node_total_) - node_terms_ - best.information);
        return best;
    }

    // Whether the node has weight enough and more than one outcome.
    bool count_node(std::span<const std::int32_t> rows) {
        for (const auto k : listed_) node_[k] = 0.0;
        listed_.clear();
        node_total_ = 0.0;
        for (const auto row : rows) {
            const auto k = rows_.outcome[row];
            if (node_[k] <= 0.0) listed_.push_back(k);
            node_[k] += rows_.growth(row);
            node_total_ += rows_.growth(row);
        }
        node_terms_ = 0;
        for (const auto k : listed_) node_terms_ += xlogx_(node_[k]);
        return listed_.size() >= 2 && node_total_ >= 2.0 * rules_.min_samples_leaf;
    }

    bool draw_code(std::int32_t f, std::span<const std::int32_t> rows, RandomSplit& split) {
        const auto& feature = rows_.features[f];
        const auto code = feature.code_at(rows[below(rows.size())]);
        split = {f, static_cast<double>(code), -1, 0};
        return std::ranges::any_of(rows, [&](auto row) { return feature.code_at(row) != code; });
    }

    bool draw_cut(std::int32_t f, std::span<const std::int32_t> rows, RandomSplit& split) {
        const auto& feature = rows_.features[f];
        double a = feature.number_at(rows[below(rows.size())]);
        double b = feature.number_at(rows[below(rows.size())]);
        if (!(a < b || b < a)) {  // alike or missing: the whole range of the node
            a = std::numeric_limits<double>::infinity();
            b = -a;
            for (const auto row : rows) {
                const double x = feature.number_at(row);
                a = x < a ? x : a;
                b = x > b ? x : b;
            }
            if (!(a < b)) return false;
        }
        const double low = std::min(a, b), high = std::max(a, b);
        double cut = low + rng_.uniform() * (high - low);
        if (!(cut >= low && cut < high)) cut = low;
        split = {f, cut, rng_.uniform() < 0.5 ? kBelow : kAbove, 0};
        return true;
    }

    std::int32_t branch_of(const RandomSplit& split, std::int32_t row) const {
        const auto& feature = rows_.features[split.feature];
        if (feature.nominal()) return feature.code_at(row) == split.threshold ? kSame : kOther;
        const double x = feature.number_at(row);
        return x <= split.threshold ? kBelow : x > split.threshold ? kAbove : split.missing_value;
    }

    void keep_better(std::span<const std::int32_t> rows, RandomSplit& split, RandomSplit& best) {
        double n_side = 0.0;
        for (const auto row : rows) {
            if (branch_of(split, row) == 0) continue;
            side_[rows_.outcome[row]] += rows_.growth(row);
            n_side += rows_.growth(row);
        }
        const double n_rest = std::max(node_total_ - n_side, 0.0);
        split.information = xlogx_(n_side) + xlogx_(n_rest);
        for (const auto k : listed_) {
            split.information -= xlogx_(side_[k]) + xlogx_(std::max(node_[k] - side_[k], 0.0));
            side_[k] = 0.0;
        }
        if (n_side < rules_.min_samples_leaf || n_rest < rules_.min_samples_leaf) return;
        if (best.feature < 0 || split.information < best.information) best = split;
    }

    void part(const Segment& segment, const RandomSplit& split, std::vector<Segment>& next) {
        const bool nominal = rows_.features[split.feature].nominal();
        tree_.feature[segment.node] = split.feature;
        tree_.threshold[segment.node] = split.threshold;
        tree_.missing_value[segment.node] = split.missing_value;
        tree_.kind[segment.node] =
            static_cast<std::uint8_t>(nominal ? SplitKind::kEqual : SplitKind::kNumeric);
        auto place = segment.begin;
        for (const std::int32_t branch : {0, 1}) {
            const auto child = tree_.add_node(segment.node, branch);
            const auto begin = place;
            auto grow_end = place;
            for (auto i = segment.begin; i < segment.end; ++i) {
                if (i == segment.grow_end) grow_end = place;
                if (branch_of(split, order_[i]) != branch) continue;
                tree_.leaf_of_row[order_[i]] = child;
                spare_[place++] = order_[i];
            }
            if (segment.grow_end == segment.end) grow_end = place;
            next.push_back({child, begin, grow_end, place});
        }
        std::copy(spare_.begin() + segment.begin, spare_.begin() + segment.end,
                  order_.begin() + segment.begin);
    }

    const GrowthRows& rows_;
    const GrowthRules& rules_;
    const FixedLog xlogx_;
    Rng rng_;
    std::vector<double> node_, side_;   // growth weight by outcome: of the node, of one side
    std::vector<std::int32_t> listed_;  // outcomes that occur in the node
    double node_total_ = 0.0;
    std::int64_t node_terms_ = 0;
    std::vector<std::int32_t> deck_;           // features, shuffled as they are drawn
    std::vector<std::int32_t> order_, spare_;  // rows by node
    GrownTree tree_;
};

}  // namespace

GrownTree grow_random_tree(const GrowthRows& rows, const GrowthRules& rules) {
    return RandomGrower(rows, rules).grow();
}

}  // namespace priorwise
