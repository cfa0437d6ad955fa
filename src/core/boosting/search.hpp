// The best split of a node of a boosted tree, or of all nodes of a level.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "boosting/tree.hpp"
#include "common/interrupt.hpp"

namespace priorwise {

// The second slopes of all scores.
inline double hessian_of(const Slope* sums, std::size_t width) {
    double total = 0.0;
    for (std::size_t k = 0; k < width; ++k) total += second_slope(sums[k]);
    return total;
}

// The best split of a few neighbouring features at one node after the other, for kWidth scores
// (0: any number of them).
template <int kWidth>
class BoostGrower::Search {
  public:
    Search(const BoostGrower& grower, std::span<const HistogramPlace> places, std::size_t end)
        : grower_(grower),
          places_(places.begin(), places.end()),
          any_width_(grower.width_),
          first_sum_(places.front().start),
          n_sums_(end - first_sum_),
          tally_(tally_of(width())) {
        if constexpr (kWidth == 0) {
            first_.resize(width());
            quotient_.resize(width());
        }
        for (auto& place : places_) place.start -= first_sum_;
        if (grower.rules_.symmetric) at_all_.resize(n_sums_ / width());
    }

    // Count the bins of a node; its histogram is filled if it is kept.
    void count(Open& open) {
        hist_ = histogram_of(open);
        std::fill_n(hist_, n_sums_, Slope{0});
        const std::span<const std::int32_t> rows = open.grown;
        const auto& bins = grower_.rows_.bins;
        for (std::size_t at = 0; at < rows.size(); at += kBlock) {
            poll_interrupt();
            tally_(bins.rows(), static_cast<std::size_t>(bins.n_features()),
                   rows.subspan(at, std::min(kBlock, rows.size() - at)),
                   grower_.task_->scratch.slope.data(), width(), places_, hist_);
        }
    }

    // The node's histogram, which is that of its parent, becomes the parent's less the sibling's.
    void subtract_sibling(Open& open, Open& sibling) {
        hist_ = histogram_of(open);
        const auto* other = histogram_of(sibling);
        for (std::size_t j = 0; j < n_sums_; ++j) hist_[j] -= other[j];
    }

    // Go on with a node whose kept histogram is filled.
    void take_up(Open& open) { hist_ = histogram_of(open); }

    // The best split of a node whose bins were counted last.
    Split find(const Open& open) {
        best_ = {};
        visit(open, [&] {
            if (bins_->nominal)
                try_codes();
            else
                try_cuts();
        });
        return best_;
    }

    // Add the gains of all splits at a node whose bins were counted last to those at other nodes.
    void add_gains(const Open& open) {
        visit(open, [&] {
            if (bins_->nominal)
                add_codes();
            else
                add_cuts();
        });
        total_hessian_ += all_hessian_;
    }

    // The split of the largest sum of gains.
    Split find_common() {
        best_ = {};
        for (const auto& place : places_) {
            feature_ = static_cast<std::int32_t>(place.feature);
            bins_ = &grower_.rows_.bins.feature(feature_);
            for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
                const auto& sum = at_all_[place.start / width() + static_cast<std::size_t>(b)];
                const double gain = std::max(sum.with_second, sum.with_first);
                const bool second = sum.with_second == sum.with_first
                                        ? 2.0 * sum.hessian < total_hessian_
                                        : sum.with_second > sum.with_first;
                if (gain > best_.gain) best_ = {gain, feature_, b, !bins_->nominal && second};
            }
        }
        return best_;
    }

  private:
    // Rows that are counted between two looks at interrupts.
    static constexpr std::size_t kBlock = 4096;

    template <class T>
    using OfScores = std::conditional_t<kWidth != 0, std::array<T, kWidth>, std::vector<T>>;

    // A split at all nodes together: its gains if missing values go to the second or to the first
    // child, and the second slopes of the first child without them.
    struct AtAll {
        double with_second = 0.0, with_first = 0.0, hessian = 0.0;
    };

    // Call `work` for each feature at the node.
    template <class Work>
    void visit(const Open& open, Work work) {
        all_ = grower_.sums_.data() + static_cast<std::size_t>(open.node) * width();
        all_hessian_ = hessian_of(all_, width());
        unsplit_ = score_unsplit();
        for (const auto& place : places_) {
            feature_ = static_cast<std::int32_t>(place.feature);
            sums_ = hist_ + place.start;
            sum_of_bin_ = at_all_.data() + place.start / width();
            bins_ = &grower_.rows_.bins.feature(feature_);
            std::fill(first_.begin(), first_.end(), Slope{0});
            work();
        }
    }

    std::size_t width() const { return kWidth != 0 ? kWidth : any_width_; }

    Slope* histogram_of(Open& open) {
        if (!open.histogram.empty()) return open.histogram.data() + first_sum_;
        scratch_.resize(n_sums_);
        return scratch_.data();
    }

    const Slope* bin(int b) const { return sums_ + static_cast<std::size_t>(b) * width(); }
    void add(const Slope* sums) {
        for (std::size_t k = 0; k < width(); ++k) first_[k] += sums[k];
    }
    void subtract(const Slope* sums) {
        for (std::size_t k = 0; k < width(); ++k) first_[k] -= sums[k];
    }

    bool is_empty(const Slope* sums) const {
        return std::all_of(sums, sums + width(), [](Slope sum) { return sum == 0; });
    }

    void try_codes() {
        for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
            if (is_empty(bin(b))) continue;
            std::copy_n(bin(b), width(), first_.begin());
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
            consider(b, missing || 2.0 * hessian_of(first_.data(), width()) < all_hessian_);
            if (!missing) continue;
            add(missing);
            consider(b, false);
            subtract(missing);
        }
    }

    // The split that puts the rows summed up in first_ on one side.
    void consider(int b, bool missing_second) {
        if (!leaves_enough()) return;
        const double gain = score_split() - unsplit_;
        if (gain > best_.gain && is_in_order()) best_ = {gain, feature_, b, missing_second};
    }

    bool leaves_enough() const {
        const double hessian = hessian_of(first_.data(), width());
        return hessian >= grower_.min_hessian_ && all_hessian_ - hessian >= grower_.min_hessian_;
    }

    void add_codes() {
        for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
            if (is_empty(bin(b))) continue;
            std::copy_n(bin(b), width(), first_.begin());
            const double gain = gain_or_none();
            sum_of_bin_[b].with_second += gain;
            sum_of_bin_[b].with_first += gain;
        }
    }

    // A bin without rows of the node parts them as the one before it.
    void add_cuts() {
        const auto* missing = bins_->missing < 0 ? nullptr : bin(bins_->missing);
        if (missing && is_empty(missing)) missing = nullptr;
        AtAll now;
        for (int b = 0; b < static_cast<int>(bins_->edge.size()); ++b) {
            if (b == 0 || !is_empty(bin(b))) {
                add(bin(b));
                now.hessian = hessian_of(first_.data(), width());
                now.with_second = now.with_first = gain_or_none();
                if (missing) {
                    add(missing);
                    now.with_first = gain_or_none();
                    subtract(missing);
                }
            }
            sum_of_bin_[b].with_second += now.with_second;
            sum_of_bin_[b].with_first += now.with_first;
            sum_of_bin_[b].hessian += now.hessian;
        }
    }

    // What the split adds at this node: nothing if it leaves too little on one side, where the node
    // is not split, and never enough if it breaks the order of a monotone feature.
    double gain_or_none() {
        if (!leaves_enough()) return 0.0;
        return is_in_order() ? score_split() - unsplit_ : -std::numeric_limits<double>::infinity();
    }

    // Whether the values of both sides are ordered as those of a monotone feature must be.
    bool is_in_order() const {
        const auto direction = grower_.direction(feature_);
        if (direction == 0) return true;
        const double l2 = grower_.l2_;
        const auto second = all_[0] - first_[0];
        const double first = -first_slope(first_[0]) / (second_slope(first_[0]) + l2);
        const double rest = -first_slope(second) / (second_slope(second) + l2);
        return direction > 0 ? first <= rest : first >= rest;
    }

    // sum_k G_k^2 / (H_k + l2) of the node, and of both sides together, in which fractions are
    // added before they are divided.
    double score_unsplit() const {
        double score = 0.0;
        for (std::size_t k = 0; k < width(); ++k) {
            const double g = first_slope(all_[k]);
            score += g * g / (second_slope(all_[k]) + grower_.l2_);
        }
        return score;
    }
    double score_split() {
        const double l2 = grower_.l2_;
        for (std::size_t k = 0; k < width(); ++k) {
            const auto first = first_[k], rest = all_[k] - first;
            const double g = first_slope(first), h = second_slope(first) + l2;
            const double other_g = first_slope(rest), other_h = second_slope(rest) + l2;
            quotient_[k] = (g * g * other_h + other_g * other_g * h) / (h * other_h);
        }
        double score = 0.0;
        for (std::size_t k = 0; k < width(); ++k) score += quotient_[k];
        return score;
    }

    const BoostGrower& grower_;
    std::vector<HistogramPlace> places_;  // from the first sum of these features
    std::size_t any_width_;
    std::size_t first_sum_, n_sums_;  // the part of a histogram that the features have
    Tally tally_;
    std::vector<Slope> scratch_;
    OfScores<Slope> first_{};      // summed up so far
    OfScores<double> quotient_{};  // of the split considered now
    Slope* hist_ = nullptr;        // of the node searched now
    std::int32_t feature_ = 0;     // searched now
    const Slope* sums_ = nullptr;
    const BoostBins::FeatureBins* bins_ = nullptr;
    const Slope* all_ = nullptr;
    double all_hessian_ = 0.0, unsplit_ = 0.0;
    Split best_;
    std::vector<AtAll> at_all_;    // per bin
    AtAll* sum_of_bin_ = nullptr;  // of the feature searched now
    double total_hessian_ = 0.0;   // of all nodes
};

}  // namespace priorwise
