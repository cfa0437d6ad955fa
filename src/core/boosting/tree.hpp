// One tree of a booster.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "boosting/booster.hpp"
#include "boosting/tally.hpp"

namespace priorwise {

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
        Histogram histogram;
        bool is_alone = false;    // the root, or a node that the split of its level does not part
        bool is_counted = false;  // whether its histogram is filled
        double least = -std::numeric_limits<double>::infinity();  // bounds of its values
        double most = std::numeric_limits<double>::infinity();
        Split split;
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
