// Boosting of scores by trees that all classes share.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/rng.hpp"
#include "forests/forest.hpp"
#include "trees/splits.hpp"

namespace priorwise {

// The values of every feature in at most kMaxBins bins; missing numbers have one of their own.
class BoostBins {
  public:
    static constexpr int kMaxCuts = 63, kMaxCodes = 254, kMaxBins = 256;
    // Tables of at most kFewRows rows have kFineCuts cuts, which cost little there.
    static constexpr std::int64_t kFewRows = 10'000;
    static constexpr int kFineCuts = 254;

    // The bins of one feature.
    struct FeatureBins {
        bool nominal = false;
        std::vector<double> edge;  // bin b: values <= edge[b]; the code, of a nominal feature
        int missing = -1;          // the bin of missing numbers or of the codes left
        int n_bins = 0;

        // Numbers between edges; those above all edges, and then the missing ones, come last.
        static FeatureBins numbers(std::span<const double> edges);
        // Codes with a bin of their own; all others share the last one.
        static FeatureBins codes(std::span<const double> codes);
    };

    // Bins of about equally many rows, cut between two values. Of codes, each of the most frequent
    // ones has a bin, and the others share one. O(features x rows log rows); threads work on
    // features.
    BoostBins(std::span<const Feature> features, std::int64_t n_rows, int n_threads);
    // Rows that are in bins, row after row; they are not copied.
    BoostBins(std::vector<FeatureBins> features, const std::uint8_t* rows, std::int64_t n_rows)
        : n_rows_(n_rows), features_(std::move(features)), rows_(rows) {}
    BoostBins(const BoostBins&) = delete;
    BoostBins& operator=(const BoostBins&) = delete;

    std::int32_t n_features() const { return static_cast<std::int32_t>(features_.size()); }
    const FeatureBins& feature(std::int32_t f) const { return features_[f]; }
    // The bin of a row is at the row times the stride.
    const std::uint8_t* column(std::int32_t f) const {
        return bin_.empty() ? rows_ + f : bin_.data() + f * n_rows_;
    }
    std::size_t stride() const { return bin_.empty() ? features_.size() : 1; }
    // The bins of all features of a row, row after row.
    const std::uint8_t* rows() const { return rows_; }

  private:
    void cut(const Feature& feature, FeatureBins& bins, std::uint8_t* bin) const;
    void code(const Feature& feature, FeatureBins& bins, std::uint8_t* bin) const;
    void turn(int n_threads);

    std::int64_t n_rows_;
    std::vector<FeatureBins> features_;
    std::vector<std::uint8_t> bin_;     // features x rows, empty if rows are not copied
    std::vector<std::uint8_t> by_row_;  // rows x features
    const std::uint8_t* rows_ = nullptr;
};

// The edges of the bins of a number that `BoostBins` would choose, at most max_cuts, or the codes
// with a bin of their own, the most frequent ones.
std::vector<double> choose_bins(const Feature& feature, std::int64_t n_rows, int max_cuts);

// Scores to start from, rows x outcomes, or of two outcomes the differences alone.
struct BoostOffset {
    std::span<const double> wide;
    std::span<const float> narrow{};

    double operator[](std::size_t i) const { return narrow.empty() ? wide[i] : narrow[i]; }
    std::size_t size() const { return narrow.empty() ? wide.size() : narrow.size(); }
};

struct BoostRows {
    const BoostBins& bins;
    std::span<const std::int32_t> outcome;
    std::int32_t n_outcomes;
    const double* weight;  // null: every row weighs one
    BoostOffset offset;

    std::int64_t n_rows() const { return static_cast<std::int64_t>(outcome.size()); }
    double weight_of(std::int64_t row) const { return weight ? weight[row] : 1.0; }
    // Two classes have one score, the difference.
    std::int32_t width() const { return n_outcomes == 2 ? 1 : n_outcomes; }
    // The k-th score of a row to start from.
    double first_score(std::size_t row, std::size_t k) const {
        if (n_outcomes > 2) return offset[row * static_cast<std::size_t>(n_outcomes) + k];
        if (offset.size() == outcome.size()) return offset[row];
        return offset[2 * row + 1] - offset[2 * row];
    }
};

// From kDitheredRows rows on, slopes are rounded at random.
constexpr std::int64_t kDitheredRows = std::int64_t{1} << 21;

struct BoostingRules {
    std::int32_t max_depth;      // most splits between the root of a tree and a leaf
    std::int32_t max_leaves;     // most leaves of a tree; 0: as many as its depth allows
    bool symmetric;              // whether all nodes of a level have one split
    double rate;                 // share of a Newton step that a tree takes
    double l2;                   // penalty on the squared values of the leaves
    double min_hessian;          // least H of either side of a split, summed over the scores
    std::int32_t max_rounds;     // most trees of a booster
    std::int32_t patience;       // rounds without a lower loss after which to stop
    double max_seconds;          // after this time no further round is started
    double row_share;            // share of the rows that a tree is grown from
    double column_share;         // share of the features that a tree is grown from
    std::uint64_t seed;          // of the draws of these rows and features
    std::vector<double> scales;  // factors of the sum of the trees to choose from
    // per feature: 1 if the score of two classes must not fall with its numbers, -1 if it must not
    // rise, 0 if it may do both; empty: all may
    std::vector<std::int32_t> monotone;
};

// A number in [0, 2^64) for a row or a feature, the same on every platform.
inline std::uint64_t draw_number(std::uint64_t key, std::uint64_t index) {
    return mix_bits(key + (index + 1) * kGoldenGamma);
}

struct Boosted {
    // The trees of booster 0, then those of booster 1 ... up to the round of the least loss.
    std::vector<std::int64_t> tree_start;
    std::vector<ForestNode> nodes;
    std::vector<double> value;  // nodes x outcomes: added to the scores
    // Mean log-loss of the rows held out, at the start and after each round, x scales.
    std::vector<double> loss;
    // The sums behind these means: start and rounds x scales x boosters.
    std::vector<double> booster_loss;
};

// Boosters side by side, each adding a tree a round; booster b learns from the rows of all folds
// but the b-th, and its loss is that of the rows of the b-th. A booster whose fold has no rows
// learns from all, and has no part in the loss. Losses are computed for the sum of the trees times
// each scale, because a single booster may fit too closely. A tree is grown level by level, or with
// a limit of leaves always at the leaf of the largest gain: at a node the split of the largest gain
// of sum_k G_k^2 / (H_k + l2), with G and H the sums of
//     g_k = w (p_k - [y = k]),  h_k = w p_k (1 - p_k) K / (K - 1),
// of two classes g_1 and w p_0 p_1 alone; a node's value is -rate G_k / (H_k + l2). A split by a
// monotone feature must order the values of its children, and the middle between them bounds the
// values of all nodes below either. Slopes are rounded to multiples of a power of two, the total
// weight times 2^-30 or up to twice that; from kDitheredRows rows on, where that is coarse, up or
// down at random, so that sums are right on average.
// All nodes of a level of a symmetric tree have the same split, that of the largest sum of gains.
// Where a side would fall below min_hessian the node is not split: it adds no gain and passes
// unchanged to the next level.
// A tree is grown from a share of the rows and of the features, drawn for it: row r if the number
// drawn for it (`draw_number`) is below the share, and the features of the lowest numbers.
// O(rows x features x classes x depth) a tree. Threads work on boosters, and on features if there
// are more threads than boosters; the result does not depend on their number.
Boosted boost(const BoostRows& rows, std::span<const std::int32_t> fold, std::int32_t n_boosters,
              const BoostingRules& rules, int n_threads);

// One booster, which learns from all rows but the last n_held.
Boosted boost_first_rows(const BoostRows& rows, std::int64_t n_held, const BoostingRules& rules,
                         int n_threads);

}  // namespace priorwise
