// One tree of a booster, and the sums of slopes by bin that it is grown from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "boosting/booster.hpp"

namespace priorwise {

// The slopes g and h of a row and a score, or sums of them, in one whole number: g in the upper 32
// bits, h in the lower. Both are multiples of a unit so large that no sum of all rows overflows.
// Sums of whole numbers are exact: the same in any order of rows and as differences.
using Slope = std::int64_t;

inline Slope pack_slope(Slope g, Slope h) {
    return g * (Slope{1} << 32) + h;
}
inline double second_slope(Slope slope) {
    return static_cast<double>(slope & 0xFFFFFFFF);
}
inline double first_slope(Slope slope) {
    return static_cast<double>(slope >> 32);
}

// Where the sums of a feature begin in a histogram.
struct HistogramPlace {
    std::size_t feature, start;
};

// Add kWidth numbers (0: `width`) to others, two in one register where the compiler knows how.
template <int kWidth>
void add_slopes(const Slope* from, Slope* to, std::size_t width) {
    const std::size_t n = kWidth ? kWidth : width;
    std::size_t k = 0;
#ifdef __GNUC__
    using Two [[gnu::vector_size(16)]] = Slope;
    for (; k + 1 < n; k += 2) {
        Two sum, term;
        std::memcpy(&sum, to + k, sizeof sum);
        std::memcpy(&term, from + k, sizeof term);
        sum += term;
        std::memcpy(to + k, &sum, sizeof sum);
    }
#endif
    for (; k < n; ++k) to[k] += from[k];
}

// Add the slopes of rows, kWidth numbers a row (0: `width`), to the sums of their bins. `bins` has
// a row of `n_features` bins for every row.
template <int kWidth>
void tally(const std::uint8_t* bins, std::size_t n_features, std::span<const std::int32_t> rows,
           const Slope* slopes, std::size_t width, std::span<const HistogramPlace> places,
           Slope* sums) {
    constexpr std::size_t kAhead = 16;  // rows between a prefetch and the use
    const std::size_t n = kWidth ? kWidth : width;
    for (std::size_t i = 0; i < rows.size(); ++i) {
#ifdef __GNUC__
        if (i + kAhead < rows.size()) {
            const auto next = static_cast<std::size_t>(rows[i + kAhead]);
            __builtin_prefetch(bins + next * n_features);
            __builtin_prefetch(slopes + next * n);
        }
#endif
        const auto row = static_cast<std::size_t>(rows[i]);
        const auto* bin = bins + row * n_features;
        Slope slope[kWidth ? kWidth : 1];
        if constexpr (kWidth > 0) std::memcpy(slope, slopes + row * n, sizeof slope);
        const auto* own = kWidth ? slope : slopes + row * n;
        for (const auto& [feature, start] : places)
            add_slopes<kWidth>(own, sums + start + bin[feature] * n, n);
    }
}

using Tally = decltype(&tally<0>);

inline Tally tally_of(std::size_t width) {
    constexpr Tally kTallies[] = {tally<0>, tally<1>, tally<2>, tally<3>, tally<4>,
                                  tally<5>, tally<6>, tally<7>, tally<8>};
    return kTallies[width < std::size(kTallies) ? width : 0];
}

struct BoostTree {
    std::vector<ForestNode> nodes;
    std::vector<double> value;  // nodes x width
};

// What a grower needs while it grows a tree; growers that take turns share it.
struct BoostScratch {
    std::vector<Slope> slope;                    // rows x width
    std::vector<std::vector<Slope>> histograms;  // that no node uses
};

// What a tree is grown from: rows whose slopes are known, other rows that only follow its splits,
// features to split by, the unit of slopes, and memory.
struct BoostTask {
    std::span<std::int32_t> grown, routed;
    std::span<const std::int32_t> features;
    double unit;  // slopes are multiples of it
    BoostScratch& scratch;
    int n_threads;
};

// Grows trees on some rows and adds their values to the scores of these and of other rows.
//
// The sums of slopes in the bins of a node are kept until its children are searched: those of the
// child with fewer rows are counted, those of the other are the rest.
class BoostGrower {
  public:
    BoostGrower(const BoostRows& rows, const BoostingRules& rules);

    // Adds the values of the tree to `score` (rows x width).
    BoostTree grow(const BoostTask& task, std::span<double> score);

  private:
    using Histogram = std::vector<Slope>;  // slopes summed by bin, feature after feature

    struct Split {
        double gain = 0.0;
        std::int32_t feature = -1;
        int bin = 0;
        bool missing_second = false;
    };
    // A node, its depth and its rows, the sums of its bins if they are kept, and its best split.
    struct Open {
        std::int32_t node, depth;
        std::span<std::int32_t> grown;
        Histogram histogram{};
        bool is_alone = false;    // the root, or a node that the split of its level does not part
        bool is_counted = false;  // whether its histogram is filled
        double least = -std::numeric_limits<double>::infinity();  // bounds of its values
        double most = std::numeric_limits<double>::infinity();
        Split split{};
    };
    // Where a row goes from a node: the first child, or the second where the bit of the bin is set.
    // From a leaf it goes nowhere.
    struct Step {
        std::size_t feature, first;
        std::uint64_t second[BoostBins::kMaxBins / 64];

        std::size_t next(const std::uint8_t* bins) const {
            const auto bin = bins[feature];
            return first + (second[bin >> 6] >> (bin & 63) & 1);
        }
    };
    template <int kWidth>
    class Search;

    static bool gains_less(const Open& a, const Open& b);
    std::size_t max_open() const;
    void plan_histograms();
    Open add_node(std::span<std::int32_t> grown, std::int32_t depth, const std::vector<Slope>& sums,
                  BoostTree& tree);
    bool split_node(const Open& parent, BoostTree& tree, std::vector<Open>& children);
    void keep_whole(Open node, std::vector<Open>& children) const;
    void take_next(std::vector<Open>& open, std::vector<Open>& taken) const;
    void close(Open leaf, std::span<double> score, const BoostTree& tree);
    std::vector<Slope> sum_rows(std::span<const std::int32_t> rows) const;
    int direction(std::int32_t feature) const {
        return rules_.monotone.empty() ? 0 : rules_.monotone[feature];
    }
    void bound_values(const Open& parent, std::span<Open> children, BoostTree& tree) const;
    std::vector<std::size_t> group_features() const;
    void find_splits(std::span<Open> open) const;
    template <int kWidth>
    void find_splits_of_width(std::span<Open> open) const;
    void give_histograms(Histogram parent, std::span<Open> children);
    ForestNode to_node(const Split& split, std::int32_t first) const;
    std::size_t part(std::span<std::int32_t> rows, const Split& split);
    bool worth_splitting(const Open& open) const;
    void add_to(std::span<double> score, const Open& leaf, const BoostTree& tree) const;
    void add_value(std::span<double> score, std::int32_t row, const double* value) const;
    void route(std::span<double> score, const BoostTree& tree) const;
    void route_few(std::span<const std::int32_t> rows, std::span<double> score,
                   const BoostTree& tree) const;
    static bool goes_second(const BoostBins::FeatureBins& bins, const Split& split, int bin);

    const BoostRows& rows_;
    const BoostingRules& rules_;
    std::size_t width_;
    std::vector<std::int32_t> spare_;
    // Of the tree that is grown now:
    const BoostTask* task_ = nullptr;
    double l2_ = 0.0, min_hessian_ = 0.0;  // in units of slopes
    std::vector<Slope> sums_;              // per node, of its rows
    std::vector<Step> steps_;              // per node
    std::int32_t depth_ = 0;               // of the deepest node
    std::vector<HistogramPlace> places_;   // of the features, in a histogram
    std::size_t histogram_size_ = 0;
};

}  // namespace priorwise
