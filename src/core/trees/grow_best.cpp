#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/parallel.hpp"
#include "common/rng.hpp"
#include "trees/split_search.hpp"
#include "trees/splits.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kMaxCandidates = 1 << 18;  // kept at a time
constexpr double kTie = 1e-9;
constexpr double kRelease8Tie = 1e-6;
constexpr double kGainSlack = 1e-3 * 0.6931471805599453;  // C4.5: a thousandth of a bit

struct OpenNode {
    std::int32_t node;
    std::int64_t begin, end;              // its entries, the same in the order of every feature
    std::int64_t class_begin, class_end;  // its outcomes in Level
};

template <class Weight>
class BestGrower {
    using Count = typename Weight::Count;

    // The nodes that may split, with the growth weight of the outcomes that occur in each.
    struct Level {
        std::vector<OpenNode> open;
        std::vector<std::int32_t> outcome;
        std::vector<Count> count;
    };

  public:
    BestGrower(const GrowthRows& rows, const SortedFeatures& sorted, const GrowthRules& rules,
               const FixedLog& xlogx, Weight weight, int n_threads)
        : rows_(rows),
          rules_(rules),
          xlogx_(xlogx),
          weight_(weight),
          search_(rows, rules, xlogx, weight),
          n_lanes_(std::max(1, std::min(n_threads, static_cast<int>(rows.features.size())))),
          rng_(rules.seed),
          branch_(rows.n_outcomes) {
        for (int lane = 0; lane < n_lanes_; ++lane) scratch_.emplace_back(rows.n_outcomes);
        spare_.resize(static_cast<std::size_t>(n_lanes_));
        const auto n_features = rows.features.size();
        const auto n = static_cast<std::size_t>(rows.n_rows);
        order_.resize(n_features);
        parallel_for(static_cast<std::int64_t>(n_features), n_threads, [&](std::int64_t f) {
            order_[f].reserve(n);
            for (std::size_t i = 0; i < n; ++i) {
                const auto at = static_cast<std::size_t>(f) * n + i;
                if (rows.kept(sorted.row[at]))
                    order_[f].push_back({sorted.row[at], sorted.rank[at]});
            }
        });
    }

    GrownTree grow() {
        plant();
        for (std::int32_t depth = 0; !level_.open.empty(); ++depth) {
            next_ = {};
            next_size_ = 0;
            for (std::size_t first = 0; first < level_.open.size();) {
                const auto last = std::min(level_.open.size(), first + nodes_at_a_time());
                find_candidates(first, last);
                for (auto i = first; i < last; ++i) split(i, i - first, depth);
                first = last;
            }
            tree_.level_start.push_back(static_cast<std::int64_t>(tree_.parent.size()));
            partition();
            level_ = std::move(next_);
        }
        // The last level's nodes may all have stayed leaves.
        if (tree_.level_start.back() == *(tree_.level_start.end() - 2))
            tree_.level_start.pop_back();
        return std::move(tree_);
    }

  private:
    std::size_t n_features() const { return rows_.features.size(); }
    std::size_t nodes_at_a_time() const {
        return static_cast<std::size_t>(
            std::max<std::int64_t>(1, kMaxCandidates / static_cast<std::int64_t>(n_features())));
    }

    void plant() {
        const auto n = static_cast<std::size_t>(rows_.n_rows);
        tree_.add_node(-1, -1);
        tree_.level_start = {0, 1};
        tree_.leaf_of_row.assign(n, -1);
        slot_.assign(n, -1);
        for (std::size_t r = 0; r < n; ++r)
            if (rows_.kept(static_cast<std::int64_t>(r))) tree_.leaf_of_row[r] = 0;
        if (order_.empty() || order_[0].empty()) return;
        next_ = {};
        next_size_ = 0;
        offer(0, order_[0], 0);
        level_ = std::move(next_);
    }

    // Let a new node split in the next level, unless it is pure, small or deep.
    void offer(std::int32_t node, std::span<const Entry> entries, std::int32_t depth) {
        const auto class_begin = static_cast<std::int64_t>(next_.outcome.size());
        Count total = 0;
        for (const auto& entry : entries) {
            const Count w = weight_(entry.row);
            if (w <= 0) continue;
            const auto k = rows_.outcome[entry.row];
            if (branch_[k] <= 0) next_.outcome.push_back(k);
            branch_[k] += w;
            total += w;
        }
        const auto class_end = static_cast<std::int64_t>(next_.outcome.size());
        const bool opens = class_end - class_begin >= 2 && depth < rules_.max_depth &&
                           static_cast<double>(total) >= 2.0 * rules_.min_samples_leaf;
        for (auto j = class_begin; j < class_end; ++j) {
            if (opens) next_.count.push_back(branch_[next_.outcome[j]]);
            branch_[next_.outcome[j]] = 0;
        }
        auto slot = -1;
        if (opens) {
            slot = static_cast<std::int32_t>(next_.open.size());
            const auto size = static_cast<std::int64_t>(entries.size());
            next_.open.push_back({node, next_size_, next_size_ + size, class_begin, class_end});
            next_size_ += size;
        } else {
            next_.outcome.resize(static_cast<std::size_t>(class_begin));
        }
        for (const auto& entry : entries) slot_[entry.row] = slot;
    }

    NodeCounts<Count> counts_of(const OpenNode& node) const {
        const auto first = static_cast<std::size_t>(node.class_begin);
        const auto size = static_cast<std::size_t>(node.class_end - node.class_begin);
        NodeCounts<Count> counts{
            {level_.outcome.data() + first, size}, {level_.count.data() + first, size}, 0, 0};
        for (const auto n : counts.count) {
            counts.total += n;
            counts.terms += xlogx_(n);
        }
        return counts;
    }

    std::span<const Entry> entries_of(const OpenNode& node, std::size_t feature) const {
        return {order_[feature].data() + node.begin,
                static_cast<std::size_t>(node.end - node.begin)};
    }

    // Run body(feature, lane) for every feature. Features share nothing, so the result does not
    // depend on the lanes.
    template <class Body>
    void for_each_feature(std::int64_t n_entries, Body&& body) {
        const auto work = n_entries * static_cast<std::int64_t>(n_features());
        const int n_lanes = threads_for(work, n_lanes_);
        parallel_for(n_lanes, n_lanes, [&](std::int64_t lane) {
            for (auto f = static_cast<std::size_t>(lane); f < n_features();
                 f += static_cast<std::size_t>(n_lanes)) {
                poll_interrupt();
                body(f, static_cast<std::size_t>(lane));
            }
        });
    }

    void find_candidates(std::size_t first, std::size_t last) {
        candidates_.assign((last - first) * n_features(), {});
        draw_features(first, last);
        node_counts_.clear();
        for (auto i = first; i < last; ++i) node_counts_.push_back(counts_of(level_.open[i]));
        const auto n_entries = level_.open[last - 1].end - level_.open[first].begin;
        for_each_feature(n_entries, [&](std::size_t f, std::size_t lane) {
            WorkPoll poll;
            for (auto i = first; i < last; ++i) {
                const auto at = (i - first) * n_features() + f;
                if (!examined_.empty() && !examined_[at]) continue;
                const auto entries = entries_of(level_.open[i], f);
                poll.add(std::ssize(entries));
                candidates_[at] = search_.search(rows_.features[f], entries,
                                                 node_counts_[i - first], scratch_[lane]);
            }
        });
    }

    // max_features of the features that are not constant, at random, for each node.
    void draw_features(std::size_t first, std::size_t last) {
        const auto d = n_features();
        const auto wanted = static_cast<std::size_t>(rules_.max_features);
        examined_.clear();
        if (wanted == 0 || wanted >= d) return;
        examined_.assign((last - first) * d, 0);
        std::vector<std::int32_t> deck(d);
        for (auto i = first; i < last; ++i) {
            std::iota(deck.begin(), deck.end(), 0);
            std::size_t n_found = 0;
            for (std::size_t drawn = 0; drawn < d && n_found < wanted; ++drawn) {
                const auto pick = drawn + static_cast<std::size_t>(rng_.uniform() *
                                                                   static_cast<double>(d - drawn));
                std::swap(deck[drawn], deck[pick]);
                const auto f = static_cast<std::size_t>(deck[drawn]);
                const auto entries = entries_of(level_.open[i], f);
                if (entries.front().rank == entries.back().rank) continue;
                examined_[(i - first) * d + f] = 1;
                ++n_found;
            }
        }
    }

    // The feature to split on, or -1. By gain ratio: the best ratio among the features whose gain
    // is at least the average.
    std::int32_t choose(std::span<const Candidate> candidates,
                        const NodeCounts<Count>& node) const {
        double average = -std::numeric_limits<double>::infinity();
        const bool release8 = rules_.criterion == Criterion::kRelease8;
        if (rules_.criterion != Criterion::kGain) {
            double sum = 0.0;
            std::int64_t n_valid = 0;
            const bool all_many = release8
                                      ? search_.all_many_valued()
                                      : std::ranges::all_of(candidates, [](const Candidate& c) {
                                            return !c.valid || c.many_valued;
                                        });
            for (const auto& c : candidates) {
                if (!c.valid || (c.many_valued && !all_many)) continue;
                sum += c.gain;
                ++n_valid;
            }
            average = n_valid ? sum / static_cast<double>(n_valid) : 0.0;
        }
        std::int32_t best = -1;
        double best_score = 0.0;
        for (std::size_t f = 0; f < candidates.size(); ++f) {
            const auto& c = candidates[f];
            if (!c.valid || c.gain < average - kGainSlack) continue;
            const double width =
                xlogx_.to_nats(c.split_information) / static_cast<double>(node.total);
            const double score = rules_.criterion == Criterion::kGain
                                     ? c.gain
                                     : (width > 0.0 ? c.gain / width : 0.0);
            // The first of equal features.
            if (score > best_score + (release8 ? kRelease8Tie : kTie)) {
                best = static_cast<std::int32_t>(f);
                best_score = score;
            }
        }
        return best;
    }

    void split(std::size_t open, std::size_t place, std::int32_t depth) {
        const auto& node = level_.open[open];
        const auto& counts = node_counts_[place];
        const std::span<const Candidate> candidates(&candidates_[place * n_features()],
                                                    n_features());
        const auto feature = choose(candidates, counts);
        if (feature < 0) {
            for (const auto& entry : entries_of(node, 0)) slot_[entry.row] = -1;
            return;
        }
        const auto& chosen = candidates[feature];
        const bool nominal = rows_.features[feature].nominal();
        const bool one_code = nominal && rules_.binary_codes;
        const auto kind = one_code  ? SplitKind::kEqual
                          : nominal ? SplitKind::kNominal
                                    : SplitKind::kNumeric;
        tree_.feature[node.node] = feature;
        tree_.gain[node.node] = chosen.gain * static_cast<double>(counts.total);
        tree_.kind[node.node] = static_cast<std::uint8_t>(kind);
        if (kind != SplitKind::kNominal) tree_.threshold[node.node] = chosen.threshold;
        if (!nominal) tree_.missing_value[node.node] = kMissing;
        const auto branch_of = [&](const Entry& entry) -> std::int32_t {
            if (one_code) return entry.rank == chosen.threshold ? kSame : kOther;
            if (nominal) return entry.rank;
            if (entry.rank == kMissingRank) return kMissing;
            return rows_.features[feature].number_at(entry.row) <= chosen.threshold ? kBelow
                                                                                    : kAbove;
        };
        // Sorted by the feature, each branch is a run of entries; "all but one code" is two runs.
        auto entries = entries_of(node, static_cast<std::size_t>(feature));
        poll_.add(std::ssize(entries));
        if (one_code) {
            by_branch_.assign(entries.begin(), entries.end());
            std::ranges::stable_partition(
                by_branch_, [&](const Entry& entry) { return branch_of(entry) == kOther; });
            entries = by_branch_;
        }
        for (std::size_t i = 0; i < entries.size();) {
            const auto branch = branch_of(entries[i]);
            const auto child = tree_.add_node(node.node, branch);
            const auto begin = i;
            for (; i < entries.size() && branch_of(entries[i]) == branch; ++i)
                tree_.leaf_of_row[entries[i].row] = child;
            offer(child, entries.subspan(begin, i - begin), depth + 1);
        }
    }

    // Bring the entries of every feature into the order of the next level's nodes, stably.
    void partition() {
        const auto size = static_cast<std::size_t>(next_size_);
        if (next_.open.empty()) return;
        for_each_feature(next_size_, [&](std::size_t f, std::size_t lane) {
            auto& spare = spare_[lane];
            spare.resize(size);
            std::vector<std::int64_t> place(next_.open.size());
            for (std::size_t s = 0; s < place.size(); ++s) place[s] = next_.open[s].begin;
            for (const auto& entry : order_[f]) {
                const auto slot = slot_[entry.row];
                if (slot >= 0) spare[place[slot]++] = entry;
            }
            std::swap(order_[f], spare);
        });
    }

    const GrowthRows& rows_;
    const GrowthRules& rules_;
    const FixedLog& xlogx_;
    Weight weight_;
    SplitSearch<Weight> search_;
    int n_lanes_;
    Rng rng_;
    std::vector<Count> branch_;              // counts of a branch by outcome
    std::vector<Scratch<Count>> scratch_;    // per lane
    std::vector<std::vector<Entry>> spare_;  // per lane
    std::vector<std::vector<Entry>> order_;  // per feature, by node and then by value
    std::vector<Entry> by_branch_;
    std::vector<std::int32_t> slot_;     // per row: its node in the next level, or -1
    std::vector<Candidate> candidates_;  // nodes x features
    std::vector<char> examined_;         // nodes x features; empty: all
    std::vector<NodeCounts<Count>> node_counts_;
    Level level_, next_;
    std::int64_t next_size_ = 0;
    WorkPoll poll_;
    GrownTree tree_;
};

}  // namespace

GrownTree grow_best_tree(const GrowthRows& rows, const SortedFeatures& sorted,
                         const GrowthRules& rules, int n_threads) {
    const auto n = static_cast<std::size_t>(rows.n_rows);
    double total = 0.0;
    bool whole = true, unit = true;
    for (std::size_t r = 0; r < n; ++r) {
        const double w = rows.growth(static_cast<std::int64_t>(r));
        total += w;
        whole = whole && w == std::floor(w) && w < 1e9;
        unit = unit && w == 1.0;
    }
    const FixedLog xlogx(total, rows.n_rows, rows.n_rows);
    if (unit) return BestGrower(rows, sorted, rules, xlogx, UnitWeight{}, n_threads).grow();
    if (!whole)
        return BestGrower(rows, sorted, rules, xlogx, RealWeight{rows.grow_weight}, n_threads)
            .grow();
    const std::vector<std::int32_t> weight(rows.grow_weight, rows.grow_weight + n);
    return BestGrower(rows, sorted, rules, xlogx, WholeWeight{weight.data()}, n_threads).grow();
}

}  // namespace priorwise
