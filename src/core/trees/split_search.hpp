// The best split of one node by one feature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/fixed_log.hpp"
#include "trees/splits.hpp"

namespace priorwise {

// A row at its place in the order of a feature.
struct Entry {
    std::int32_t row;
    std::int32_t rank;
};

// Weights of rows. Logarithms of whole weights are read from a table.
struct UnitWeight {
    using Count = std::int64_t;
    Count operator()(std::int32_t) const { return 1; }
};
struct WholeWeight {
    using Count = std::int64_t;
    const std::int32_t* weight;
    Count operator()(std::int32_t row) const { return weight[row]; }
};
struct RealWeight {
    using Count = double;
    const double* weight;
    Count operator()(std::int32_t row) const { return weight[row]; }
};

// Growth weight of a node by outcome; only outcomes that occur are listed.
template <class Count>
struct NodeCounts {
    std::span<const std::int32_t> outcome;
    std::span<const Count> count;
    Count total;
    std::int64_t terms;  // sum of n ln n over the outcomes, in fixed point

    std::int64_t information(const FixedLog& xlogx) const { return xlogx(total) - terms; }
};

// Information is N times entropy, in fixed point; less is better.
struct Candidate {
    bool valid = false;
    bool many_valued = false;      // nominal with values for 30 % of the rows: left out of averages
    std::int64_t information = 0;  // summed over the branches
    std::int64_t split_information = 0;
    double penalty = 0.0;  // nats, of the MDL correction
    double threshold = 0.0;
    double gain = 0.0;  // nats per unit of weight, penalty taken off
};

// Counts by outcome: of one branch, cleared by what was touched in it, and of the sides of a cut.
template <class Count>
struct Scratch {
    explicit Scratch(std::int32_t n_outcomes)
        : branch(n_outcomes), below(n_outcomes), above(n_outcomes) {}
    std::vector<Count> branch, below, above;
    std::vector<std::int32_t> touched;
};

inline double middle(double below, double above) {
    const double mid = below + (above - below) / 2.0;
    return mid >= below && mid < above ? mid : below;
}

template <class Weight>
class SplitSearch {
  public:
    using Count = typename Weight::Count;

    SplitSearch(const GrowthRows& rows, const GrowthRules& rules, const FixedLog& xlogx,
                Weight weight)
        : rows_(rows), rules_(rules), xlogx_(xlogx), weight_(weight) {
        if (release8()) find_many_valued();
    }

    // Whether all features are nominal and many-valued in the whole table; for kRelease8.
    bool all_many_valued() const { return std::ranges::all_of(many_valued_, std::identity{}); }

    Candidate search(const Feature& feature, std::span<const Entry> entries,
                     const NodeCounts<Count>& node, Scratch<Count>& scratch) const {
        // Entries are sorted, so equal ends mean that the feature is constant here.
        if (entries.front().rank == entries.back().rank) return {};
        Candidate found = !feature.nominal()    ? search_cuts(feature, entries, node, scratch)
                          : rules_.binary_codes ? search_one_code(entries, node, scratch)
                                                : search_codes(entries, node, scratch);
        if (!found.valid) return found;
        const double nats = xlogx_.to_nats(node.information(xlogx_) - found.information);
        found.gain = (nats - found.penalty) / static_cast<double>(node.total);
        // Nominal features that gain nothing count in averages by the rules of Release 8.
        found.valid = found.gain > (release8() ? kSmall * kBit : kLeastGain) ||
                      (release8() && feature.nominal());
        if (release8() && feature.nominal())
            found.many_valued = many_valued_[&feature - rows_.features.data()];
        return found;
    }

  private:
    static constexpr double kLeastGain = 1e-9;
    // Release 8: differences of values, and of numbers of bits, that count as none.
    static constexpr double kNear = 1e-5;
    static constexpr double kSmall = 1e-6;
    static constexpr double kBit = 0.6931471805599453;  // nats

    bool release8() const { return rules_.criterion == Criterion::kRelease8; }

    void find_many_valued() {
        double total = 0.0;
        for (std::int64_t row = 0; row < rows_.n_rows; ++row) total += rows_.growth(row);
        for (const auto& feature : rows_.features) {
            std::vector<bool> seen;
            for (std::int64_t row = 0; feature.nominal() && row < rows_.n_rows; ++row) {
                if (rows_.growth(row) <= 0.0) continue;
                const auto code = static_cast<std::size_t>(std::max(feature.code_at(row), 0));
                if (code >= seen.size()) seen.resize(code + 1, false);
                seen[code] = true;
            }
            auto n_values = static_cast<std::int64_t>(std::ranges::count(seen, true));
            if (!rules_.n_values.empty())
                n_values = std::max<std::int64_t>(n_values, rules_.n_values[many_valued_.size()]);
            many_valued_.push_back(feature.nominal() &&
                                   static_cast<double>(n_values) >= 0.3 * total);
        }
    }

    static constexpr std::int64_t kFewValues = 32;

    // By how much sums that are equal in exact arithmetic may differ: units of rounding, or the
    // errors of real weights that are added and subtracted.
    std::int64_t tie(const NodeCounts<Count>& node) const {
        const double slack = release8() ? kSmall * kBit : 1e-12;
        const double lost = slack * static_cast<double>(node.total) / xlogx_.to_nats(1);
        return std::max<std::int64_t>(16, static_cast<std::int64_t>(lost));
    }

    Candidate search_codes(std::span<const Entry> entries, const NodeCounts<Count>& node,
                           Scratch<Count>& scratch) const {
        Candidate found;
        std::int64_t split = 0;
        int n_large = 0, n_values = 0;
        for (std::size_t i = 0; i < entries.size();) {
            const auto code = entries[i].rank;
            Count total = 0;
            for (; i < entries.size() && entries[i].rank == code; ++i)
                total += add(entries[i].row, scratch);
            if (total <= 0) continue;
            const auto term = xlogx_(total);
            found.information += term - take_terms(scratch);
            split += term;
            n_values += 1;
            n_large += total >= rules_.min_samples_leaf;
        }
        found.split_information = xlogx_(node.total) - split;
        found.valid = n_large >= 2;
        found.many_valued = n_values >= 0.3 * static_cast<double>(node.total);
        return found;
    }

    // The best split of one code against the rest; the code is the candidate's threshold.
    Candidate search_one_code(std::span<const Entry> entries, const NodeCounts<Count>& node,
                              Scratch<Count>& scratch) const {
        for (std::size_t j = 0; j < node.outcome.size(); ++j)
            scratch.above[node.outcome[j]] = node.count[j];
        Candidate found;
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        const auto tie = this->tie(node);
        std::int64_t n_values = 0;
        for (std::size_t i = 0; i < entries.size();) {
            const auto code = entries[i].rank;
            Count total = 0;
            for (; i < entries.size() && entries[i].rank == code; ++i)
                total += add(entries[i].row, scratch);
            n_values += total > 0;
            const Count rest = std::max(node.total - total, Count(0));
            std::int64_t rest_terms = node.terms;
            for (const auto k : scratch.touched) {
                const Count whole = scratch.above[k];
                rest_terms -= xlogx_(whole);
                rest_terms += xlogx_(std::max(whole - scratch.branch[k], Count(0)));
            }
            const auto sides = xlogx_(total) + xlogx_(rest);
            const auto information = sides - take_terms(scratch) - rest_terms;
            if (total < rules_.min_samples_leaf || rest < rules_.min_samples_leaf || total <= 0 ||
                rest <= 0 || information >= best - tie)
                continue;
            best = information;
            found.valid = true;
            found.information = information;
            found.split_information = xlogx_(node.total) - sides;
            found.threshold = code;
        }
        // Without this, one of many values would always look good by chance, and a tree could split
        // them off one by one.
        if (rules_.mdl_correction && n_values > kFewValues)
            found.penalty = std::log(static_cast<double>(n_values));
        return found;
    }

    Candidate search_cuts(const Feature& feature, std::span<const Entry> entries,
                          const NodeCounts<Count>& node, Scratch<Count>& scratch) const {
        const auto known_end = std::partition_point(
            entries.begin(), entries.end(), [](const Entry& e) { return e.rank != kMissingRank; });
        const std::span<const Entry> known(entries.begin(), known_end);
        Count n_missing = 0;
        for (auto e = known_end; e != entries.end(); ++e) n_missing += add(e->row, scratch);
        const auto missing_term = xlogx_(n_missing);
        Candidate found = cut(feature, known, node, n_missing, scratch);
        const auto missing_information = missing_term - take_terms(scratch);
        found.information += missing_information;
        found.split_information = xlogx_(node.total) - found.split_information - missing_term;
        return found;
    }

    // scratch.branch holds the missing rows. The candidate's split information is the sum of
    // N ln N over the known branches, for the caller to complete.
    Candidate cut(const Feature& feature, std::span<const Entry> known,
                  const NodeCounts<Count>& node, Count n_missing, Scratch<Count>& scratch) const {
        auto& below = scratch.below;
        auto& above = scratch.above;
        std::int64_t terms_below = 0, terms_above = 0;
        for (std::size_t j = 0; j < node.outcome.size(); ++j) {
            const auto k = node.outcome[j];
            below[k] = 0;
            above[k] = std::max(node.count[j] - scratch.branch[k], Count(0));
            terms_above += xlogx_(above[k]);
        }
        Count n_below = 0, n_above = node.total - n_missing;
        const Candidate whole = known_against_missing(n_above, n_missing, terms_above);
        const double least = least_side(static_cast<double>(n_above));

        Candidate found;
        std::int64_t best = std::numeric_limits<std::int64_t>::max();
        const auto tie = this->tie(node);
        std::int64_t n_distinct = 0, n_admissible = 0;
        std::int32_t last_rank = -1, last_row = -1;
        std::int32_t cut_after = -1, cut_before = -1;
        for (const auto& entry : known) {
            const Count w = weight_(entry.row);
            if (w <= 0) continue;
            if (entry.rank != last_rank) {
                const bool apart =
                    !release8() || (last_row >= 0 && feature.number_at(entry.row) >
                                                         feature.number_at(last_row) + kNear);
                if (apart && static_cast<double>(n_below) >= least &&
                    static_cast<double>(n_above) >= least) {
                    n_admissible += 1;
                    const auto sides = xlogx_(n_below) + xlogx_(n_above);
                    const auto information = sides - terms_below - terms_above;
                    if (information < best - tie && allows(feature, scratch, n_below, n_above)) {
                        best = information;
                        found.valid = true;
                        found.split_information = sides;
                        cut_after = last_row;
                        cut_before = entry.row;
                    }
                }
                n_distinct += 1;
                last_rank = entry.rank;
            }
            last_row = entry.row;
            const auto k = rows_.outcome[entry.row];
            terms_below -= xlogx_(below[k]);
            terms_above -= xlogx_(above[k]);
            below[k] += w;
            above[k] = std::max(above[k] - w, Count(0));
            terms_below += xlogx_(below[k]);
            terms_above += xlogx_(above[k]);
            n_below += w;
            n_above = std::max(n_above - w, Count(0));
        }
        if (!found.valid) return whole;
        found.information = best;
        found.threshold = middle(feature.number_at(cut_after), feature.number_at(cut_before));
        const auto n_choices = release8() ? n_admissible : n_distinct - 1;
        if (rules_.mdl_correction && n_choices > 1)
            found.penalty = std::log(static_cast<double>(n_choices));
        return found;
    }

    bool allows(const Feature& feature, const Scratch<Count>& scratch, Count n_below,
                Count n_above) const {
        if (rules_.monotone.empty()) return true;
        return rules_.allows(static_cast<std::int32_t>(&feature - rows_.features.data()),
                             static_cast<double>(scratch.below[1]), static_cast<double>(n_below),
                             static_cast<double>(scratch.above[1]), static_cast<double>(n_above));
    }

    // Without a cut, known values can still be split from missing ones.
    Candidate known_against_missing(Count n_known, Count n_missing, std::int64_t terms) const {
        Candidate whole;
        whole.valid = n_known >= rules_.min_samples_leaf && n_missing >= rules_.min_samples_leaf &&
                      n_missing > 0;
        whole.threshold = std::numeric_limits<double>::infinity();
        whole.information = xlogx_(n_known) - terms;
        whole.split_information = xlogx_(n_known);
        return whole;
    }

    double least_side(double n_known) const {
        const double share = rules_.numeric_min_share * n_known / rows_.n_outcomes;
        return std::max({rules_.min_samples_leaf,
                         std::min(share, 25.0) - (release8() ? kSmall : 0.0),
                         std::numeric_limits<double>::min()});
    }

    Count add(std::int32_t row, Scratch<Count>& scratch) const {
        const Count w = weight_(row);
        if (w <= 0) return 0;
        const auto k = rows_.outcome[row];
        if (scratch.branch[k] <= 0) scratch.touched.push_back(k);
        scratch.branch[k] += w;
        return w;
    }

    std::int64_t take_terms(Scratch<Count>& scratch) const {
        std::int64_t terms = 0;
        for (const auto k : scratch.touched) {
            terms += xlogx_(scratch.branch[k]);
            scratch.branch[k] = 0;
        }
        scratch.touched.clear();
        return terms;
    }

    std::vector<bool> many_valued_;  // by feature; for kRelease8
    const GrowthRows& rows_;
    const GrowthRules& rules_;
    const FixedLog& xlogx_;
    Weight weight_;
};

}  // namespace priorwise
