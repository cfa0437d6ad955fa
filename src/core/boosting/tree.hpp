// One tree of a booster.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "boosting/booster.hpp"

namespace priorwise {

// Numbers of a row's slope: g of every score, then h.
constexpr std::size_t slope_size(std::size_t width) {
    return 2 * width;
}

struct BoostTree {
    std::vector<ForestNode> nodes;
    std::vector<double> value;  // nodes x width
};

// What a grower needs while it grows a tree; growers that take turns share it.
struct BoostScratch {
    std::vector<double> slope;                    // rows x slope_size
    std::vector<std::vector<double>> histograms;  // that no node uses
};

// Grows trees on some rows and adds their values to the scores of these and of held-out rows.
//
// The sums of slopes in the bins of a node are kept until its children are searched: those of the
// child with fewer rows are counted, those of the other are the rest.
class BoostGrower {
  public:
    BoostGrower(const BoostRows& rows, const BoostRules& rules, std::vector<std::int32_t> learnt,
                std::vector<std::int32_t> held);

    // Adds the values of the tree to `score` (rows x width).
    BoostTree grow(BoostScratch& scratch, std::span<double> score, int n_threads);

    std::span<const std::int32_t> learnt() const { return learnt_; }
    std::span<const std::int32_t> held() const { return held_; }

  private:
    using Histogram = std::vector<double>;  // slopes summed by bin, feature after feature

    // A node, its rows in both lists, and the sums of its bins if they are kept.
    struct Open {
        std::int32_t node;
        std::span<std::int32_t> learnt, held;
        Histogram histogram;
        double least = -std::numeric_limits<double>::infinity();  // bounds of its values
        double most = std::numeric_limits<double>::infinity();
    };
    struct Split {
        double gain = 0.0;
        std::int32_t feature = -1;
        int bin = 0;
        bool missing_second = false;
    };
    class Search;

    Open add_node(std::span<std::int32_t> learnt, std::span<std::int32_t> held, BoostTree& tree);
    int direction(std::int32_t feature) const {
        return rules_.monotone.empty() ? 0 : rules_.monotone[feature];
    }
    void bound_values(const Open& parent, const Split& split, std::span<Open> children,
                      BoostTree& tree) const;
    std::vector<std::int32_t> group_features(int n_threads) const;
    std::vector<Split> find_splits(std::vector<Open>& open, int n_threads) const;
    void give_histograms(Histogram parent, std::span<Open> children);
    ForestNode to_node(const Split& split, std::int32_t first) const;
    std::size_t part(std::span<std::int32_t> rows, const Split& split);
    bool worth_splitting(const Open& open) const;
    void add_to(std::span<double> score, const Open& leaf, const BoostTree& tree) const;

    const BoostRows& rows_;
    const BoostRules& rules_;
    std::size_t width_;
    std::vector<std::int32_t> learnt_, held_;        // as given
    std::vector<std::int32_t> learnt_at_, held_at_;  // node by node
    std::vector<std::int32_t> spare_;
    std::vector<double> sums_;                // per node: G of all scores, then H
    std::vector<std::size_t> feature_start_;  // of each feature in a histogram, and its size
    std::vector<Histogram>* spare_histograms_ = nullptr;
    std::span<const double> slope_;
};

}  // namespace priorwise
