// Entropy-based cuts: Fayyad and Irani's MDLP, its randomised form, and depth-limited trees.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "common/fixed_log.hpp"
#include "common/interrupt.hpp"
#include "common/rng.hpp"
#include "cuts/cuts.hpp"

namespace priorwise {
namespace {

constexpr double kMinGain = 1e-10;  // nats; a smaller gain may be a rounding error

// Class totals of a stretch of rows, with the sum of n ln n kept up to date.
struct Side {
    std::vector<double> weight;
    std::vector<std::int64_t> rows;
    std::int64_t sum = 0;  // fixed point sum of n ln n over classes
    double total = 0.0;
    int n_present = 0;

    explicit Side(std::size_t n_classes) : weight(n_classes, 0.0), rows(n_classes, 0) {}

    void clear() {
        std::fill(weight.begin(), weight.end(), 0.0);
        std::fill(rows.begin(), rows.end(), 0);
        sum = 0;
        total = 0.0;
        n_present = 0;
    }
};

struct Candidate {
    std::int32_t rank = -1;
    std::int64_t end = 0;                                      // first row right of the cut
    double gain = 0.0;                                         // nats per row
    double excess = -std::numeric_limits<double>::infinity();  // gain less the MDL threshold
};

class Cutter {
  public:
    Cutter(const RankedFeature& feature, int max_depth, std::uint64_t seed, const FixedLog& log)
        : left_(static_cast<std::size_t>(feature.n_classes)),
          right_(static_cast<std::size_t>(feature.n_classes)),
          log_(log),
          max_depth_(max_depth),
          rng_(seed) {
        sort_rows(feature);
    }

    std::int64_t n_rows() const { return static_cast<std::int64_t>(ranks_.size()); }

    void cut_by_mdl(std::int64_t begin, std::int64_t end) {
        // An explicit stack, because recursion could be as deep as there are cuts.
        std::vector<std::pair<std::int64_t, std::int64_t>> open{{begin, end}};
        while (!open.empty()) {
            const auto [from, to] = open.back();
            open.pop_back();
            const Candidate best = best_cut(from, to);
            if (best.rank < 0 || !(best.excess > 0.0)) continue;
            cuts_.push_back(best.rank);
            open.emplace_back(best.end, to);
            open.emplace_back(from, best.end);
        }
    }

    void cut_at_random(std::int64_t begin, std::int64_t end) {
        std::vector<std::pair<std::int64_t, std::int64_t>> open{{begin, end}};
        bool first = true;
        while (!open.empty()) {
            const auto [from, to] = open.back();
            open.pop_back();
            list_candidates(from, to);
            // At least one cut, so that members differ: without an accepted cut the first
            // stretch draws by the gain itself.
            const Candidate* drawn = draw(&Candidate::excess);
            const bool accepted = drawn != nullptr;
            if (!accepted && first) drawn = draw(&Candidate::gain);
            first = false;
            if (drawn == nullptr) continue;
            cuts_.push_back(drawn->rank);
            if (!accepted) return;
            open.emplace_back(drawn->end, to);
            open.emplace_back(from, drawn->end);
        }
    }

    // True when a cut was kept in the stretch.
    bool grow_tree(std::int64_t begin, std::int64_t end, int depth, bool prune) {
        if (depth == max_depth_) return false;
        const Candidate best = best_cut(begin, end);
        if (best.rank < 0 || best.gain <= kMinGain) return false;
        const bool kept_left = grow_tree(begin, best.end, depth + 1, prune);
        const bool kept_right = grow_tree(best.end, end, depth + 1, prune);
        if (prune && best.excess <= 0.0 && !kept_left && !kept_right) return false;
        cuts_.push_back(best.rank);
        return true;
    }

    std::vector<std::int32_t> sorted_cuts() {
        std::sort(cuts_.begin(), cuts_.end());
        return std::move(cuts_);
    }

  private:
    // Counting sort by rank; rows without value or weight are left out.
    void sort_rows(const RankedFeature& feature) {
        std::vector<std::int64_t> start(static_cast<std::size_t>(feature.n_distinct) + 1, 0);
        auto counted = [&](std::int64_t row) {
            return feature.ranks[row] >= 0 &&
                   (feature.weights == nullptr || feature.weights[row] > 0.0);
        };
        for (std::int64_t row = 0; row < feature.n_rows; ++row) {
            if (counted(row)) ++start[static_cast<std::size_t>(feature.ranks[row]) + 1];
        }
        for (std::size_t r = 1; r < start.size(); ++r) start[r] += start[r - 1];
        const auto size = static_cast<std::size_t>(start.back());
        ranks_.resize(size);
        classes_.resize(size);
        weights_.resize(size);
        for (std::int64_t row = 0; row < feature.n_rows; ++row) {
            if (!counted(row)) continue;
            const auto at =
                static_cast<std::size_t>(start[static_cast<std::size_t>(feature.ranks[row])]++);
            ranks_[at] = feature.ranks[row];
            classes_[at] = feature.classes[row];
            weights_[at] = feature.weights == nullptr ? 1.0 : feature.weights[row];
        }
    }

    std::int64_t x_log_x(double n) const {
        // Whole numbers take the table; both ways give the same bits.
        const auto whole = static_cast<std::int64_t>(n);
        return static_cast<double>(whole) == n ? log_(whole) : log_(n);
    }

    void add(Side& side, std::int32_t k, double weight) const {
        const auto c = static_cast<std::size_t>(k);
        side.sum -= x_log_x(side.weight[c]);
        side.weight[c] += weight;
        side.sum += x_log_x(side.weight[c]);
        side.total += weight;
        side.n_present += side.rows[c]++ == 0;
    }

    void remove(Side& side, std::int32_t k, double weight) const {
        const auto c = static_cast<std::size_t>(k);
        side.sum -= x_log_x(side.weight[c]);
        --side.rows[c];
        side.n_present -= side.rows[c] == 0;
        // Exactly zero with the last row, whatever the rounding of the weights.
        side.weight[c] = side.rows[c] == 0 ? 0.0 : std::max(side.weight[c] - weight, 0.0);
        side.sum += x_log_x(side.weight[c]);
        // A large weight that is taken off may have swallowed small ones.
        side.total = std::max(side.total - weight, 0.0);
    }

    double entropy(const Side& side) const {
        return side.total > 0.0 ? log_.to_nats(n_entropy(side)) / side.total : 0.0;
    }

    // n times the entropy, in fixed point nats.
    std::int64_t n_entropy(const Side& side) const { return x_log_x(side.total) - side.sum; }

    // Eqs. 37-38 in nats: gain less threshold.
    double excess(double gain, double n, double h, int k, double log_n_less_one) const {
        const double h1 = entropy(left_);
        const double h2 = entropy(right_);
        // log(3^k - 2), written so that it does not overflow for many classes.
        const double log_partitions = k * std::log(3.0) + std::log1p(-2.0 * std::pow(3.0, -k));
        const double delta =
            log_partitions - (k * h - left_.n_present * h1 - right_.n_present * h2);
        return gain - (log_n_less_one + delta) / n;
    }

    // Calls visit(rank, end, n_entropy left + right) at every boundary between distinct values.
    template <class Visit>
    void sweep(std::int64_t begin, std::int64_t end, Visit&& visit) {
        left_.clear();
        right_.clear();
        for (std::int64_t row = begin; row < end; ++row) {
            poll_every<4096>(row);
            add(right_, classes_[static_cast<std::size_t>(row)],
                weights_[static_cast<std::size_t>(row)]);
        }
        whole_n_entropy_ = n_entropy(right_);
        whole_total_ = right_.total;
        whole_present_ = right_.n_present;
        if (whole_present_ < 2) return;
        for (std::int64_t row = begin; row + 1 < end; ++row) {
            poll_every<4096>(row);
            const auto r = static_cast<std::size_t>(row);
            add(left_, classes_[r], weights_[r]);
            remove(right_, classes_[r], weights_[r]);
            if (ranks_[r] != ranks_[r + 1]) visit(ranks_[r], row + 1);
        }
    }

    Candidate measure(std::int32_t rank, std::int64_t end) const {
        Candidate cut;
        cut.rank = rank;
        cut.end = end;
        const double n = whole_total_;
        cut.gain = log_.to_nats(whole_n_entropy_ - n_entropy(left_) - n_entropy(right_)) / n;
        // What weighs less than two rows is not cut: log(N - 1) is negative there.
        if (n >= 2.0) {
            const double h = log_.to_nats(whole_n_entropy_) / n;
            cut.excess = excess(cut.gain, n, h, whole_present_, std::log(n - 1.0));
        }
        return cut;
    }

    // Of equal gains the lowest cut wins.
    Candidate best_cut(std::int64_t begin, std::int64_t end) {
        Candidate best;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        sweep(begin, end, [&](std::int32_t rank, std::int64_t at) {
            const std::int64_t remaining = n_entropy(left_) + n_entropy(right_);
            if (remaining < least) {
                least = remaining;
                best = measure(rank, at);
            }
        });
        return best;
    }

    void list_candidates(std::int64_t begin, std::int64_t end) {
        candidates_.clear();
        sweep(begin, end, [&](std::int32_t rank, std::int64_t at) {
            candidates_.push_back(measure(rank, at));
        });
    }

    // A candidate with probability proportional to its positive part; null if none is positive.
    const Candidate* draw(double Candidate::* mass) {
        double total = 0.0;
        for (const auto& cut : candidates_) total += std::max(cut.*mass, 0.0);
        if (total <= kMinGain) return nullptr;
        double remaining = rng_.uniform() * total;
        const Candidate* last = nullptr;
        for (const auto& cut : candidates_) {
            if (cut.*mass <= 0.0) continue;
            last = &cut;
            remaining -= cut.*mass;
            if (remaining < 0.0) break;
        }
        return last;
    }

    std::vector<std::int32_t> ranks_, classes_;
    std::vector<double> weights_;
    Side left_, right_;
    const FixedLog& log_;
    int max_depth_;
    Rng rng_;
    std::int64_t whole_n_entropy_ = 0;
    double whole_total_ = 0.0;
    int whole_present_ = 0;
    std::vector<Candidate> candidates_;
    std::vector<std::int32_t> cuts_;
};

}  // namespace

std::vector<std::int32_t> entropy_cuts(const RankedFeature& feature, CutRule rule, int max_depth,
                                       std::uint64_t seed, const FixedLog& log) {
    Cutter cutter(feature, max_depth, seed, log);
    const std::int64_t n = cutter.n_rows();
    switch (rule) {
        case CutRule::mdl:
            cutter.cut_by_mdl(0, n);
            break;
        case CutRule::random_mdl:
            cutter.cut_at_random(0, n);
            break;
        case CutRule::tree:
            cutter.grow_tree(0, n, 0, false);
            break;
        case CutRule::pruned_tree:
            cutter.grow_tree(0, n, 0, true);
            break;
    }
    return cutter.sorted_cuts();
}

}  // namespace priorwise
