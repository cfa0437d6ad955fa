#include "networks/arc_searches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/interrupt.hpp"
#include "common/parallel.hpp"
#include "networks/arc_terms.hpp"

namespace priorwise {
namespace {

double row_weight(const SuperParentSearch& search, std::int64_t row) {
    return search.weight ? search.weight[row] : 1.0;
}

double log_sum_exp(const double* values, std::int32_t n) {
    const double largest = *std::max_element(values, values + n);
    double sum = 0.0;
    for (std::int32_t i = 0; i < n; ++i) sum += std::exp(values[i] - largest);
    return largest + std::log(sum);
}

struct Ranked {
    double p;
    std::int32_t y;
    double weight;
};

// favourable[j] = weight of the pairs (row of class y, row of class j) that the former wins, ties
// half, with the rows in ascending order.
void count_wins(const std::vector<Ranked>& rows, std::int32_t y, std::vector<double>& below,
                std::vector<double>& favourable) {
    std::ranges::fill(below, 0.0);
    std::ranges::fill(favourable, 0.0);
    std::vector<double> tied(below.size(), 0.0);
    for (std::size_t first = 0; first < rows.size();) {
        std::size_t last = first;
        for (; last < rows.size() && rows[last].p == rows[first].p; ++last)
            tied[static_cast<std::size_t>(rows[last].y)] += rows[last].weight;
        const double own = tied[static_cast<std::size_t>(y)];
        if (own > 0.0)
            for (std::size_t j = 0; j < below.size(); ++j)
                favourable[j] += own * (below[j] + tied[j] / 2.0);
        for (; first < last; ++first) {
            below[static_cast<std::size_t>(rows[first].y)] += rows[first].weight;
            tied[static_cast<std::size_t>(rows[first].y)] = 0.0;
        }
    }
}

// Sum over the rows of weight x log p(y | x), in nats.
double score_likelihood(std::span<const double> joint, const SuperParentSearch& search) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < search.n_rows; ++r) {
        poll_every<1 << 12>(r);
        const double w = row_weight(search, r);
        if (w == 0.0) continue;
        const double* row = joint.data() + r * search.n_classes;
        sum += w * (row[search.y[r]] - log_sum_exp(row, search.n_classes));
    }
    return sum;
}

// Weight of the rows whose most probable class (the first of equals) is the true one.
double score_accuracy(std::span<const double> joint, const SuperParentSearch& search) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < search.n_rows; ++r) {
        const double* row = joint.data() + r * search.n_classes;
        if (std::max_element(row, row + search.n_classes) - row == search.y[r])
            sum += row_weight(search, r);
    }
    return sum;
}

// Hand and Till's M measure: the mean over pairs of classes of the area under the ROC curve, O(rows
// log(rows) x classes). Classes without rows are left out.
double score_auc(std::span<const double> joint, const SuperParentSearch& search) {
    const auto n_classes = static_cast<std::size_t>(search.n_classes);
    std::vector<double> log_total(static_cast<std::size_t>(search.n_rows));
    std::vector<double> class_weight(n_classes, 0.0);
    for (std::int64_t r = 0; r < search.n_rows; ++r) {
        poll_every<1 << 12>(r);
        log_total[r] = log_sum_exp(joint.data() + r * search.n_classes, search.n_classes);
        class_weight[static_cast<std::size_t>(search.y[r])] += row_weight(search, r);
    }
    std::vector<Ranked> rows;
    std::vector<double> below(n_classes), favourable(n_classes);
    double sum = 0.0;
    std::int64_t n_pairs = 0;
    for (std::size_t y = 0; y < n_classes; ++y) {
        if (class_weight[y] == 0.0) continue;
        rows.clear();
        for (std::int64_t r = 0; r < search.n_rows; ++r)
            if (row_weight(search, r) > 0.0)
                rows.push_back(
                    {joint[r * search.n_classes + static_cast<std::int64_t>(y)] - log_total[r],
                     search.y[r], row_weight(search, r)});
        // Ties by class: the order, and so the sum, is the same whatever the order of the rows.
        sort_polling(rows.begin(), rows.end(), [](const Ranked& a, const Ranked& b) {
            return std::pair(a.p, a.y) < std::pair(b.p, b.y);
        });
        count_wins(rows, static_cast<std::int32_t>(y), below, favourable);
        for (std::size_t j = 0; j < n_classes; ++j) {
            if (j == y || class_weight[j] == 0.0) continue;
            sum += favourable[j] / (class_weight[y] * class_weight[j]);
            ++n_pairs;
        }
    }
    return n_pairs ? sum / static_cast<double>(n_pairs) : 0.0;
}

double score_joint(std::span<const double> joint, const SuperParentSearch& search) {
    if (search.score == SearchScore::kAccuracy) return score_accuracy(joint, search);
    if (search.score == SearchScore::kAuc) return score_auc(joint, search);
    return score_likelihood(joint, search);
}

constexpr std::int64_t kMaxKept = std::int64_t{1} << 27;  // numbers, 1 GB
constexpr double kWorst = -std::numeric_limits<double>::infinity();

// Scores that differ by less than this are taken as equal.
bool better(double score, double than) {
    return std::isinf(than) ? score > than : score > than + 1e-9 * std::max(1.0, std::abs(than));
}

std::int32_t find_best(std::span<const double> scores) {
    std::int32_t best = 0;
    for (std::size_t i = 1; i < scores.size(); ++i)
        if (better(scores[i], scores[best])) best = static_cast<std::int32_t>(i);
    return best;
}

class Searcher {
  public:
    Searcher(const SuperParentSearch& search, int n_threads)
        : search_(search),
          n_threads_(n_threads),
          terms_(search),
          joint_(terms_.naive_joint()),
          n_features_(static_cast<std::int32_t>(search.columns.size())),
          parent_(search.columns.size(), -1),
          keeps_sums_(n_features_ * static_cast<std::int64_t>(joint_.size()) <= kMaxKept) {}

    SuperParentArcs run() {
        std::vector<double> scores = {score_joint(joint_, search_)};
        if (keeps_sums_) sum_orphans();
        for (;;) {
            const auto superparent = find_superparent();
            if (superparent < 0) break;
            const auto [child, score] = find_favourite_child(superparent);
            if (!better(score, scores.back())) break;
            scores.push_back(score);
            add_arc(superparent, child);
        }
        return {std::move(parent_), std::move(scores)};
    }

  private:
    std::int32_t root(std::int32_t feature) const {
        while (parent_[feature] >= 0) feature = parent_[feature];
        return feature;
    }

    // Orphans that may become children of a feature without a cycle.
    std::vector<std::int32_t> children_of(std::int32_t feature) const {
        std::vector<std::int32_t> children;
        const auto top = root(feature);
        for (std::int32_t c = 0; c < n_features_; ++c)
            if (parent_[c] < 0 && c != top) children.push_back(c);
        return children;
    }

    void sum_orphans() {
        sums_.resize(static_cast<std::size_t>(n_features_));
        parallel_for(n_features_, n_threads_, [&](std::int64_t p) {
            sums_[p].assign(joint_.size(), 0.0);
            const auto feature = static_cast<std::int32_t>(p);
            for (const auto child : children_of(feature))
                terms_.add_arc(feature, child, 1.0, sums_[p].data());
        });
    }

    std::int32_t find_superparent() const {
        std::vector<double> scores(static_cast<std::size_t>(n_features_), kWorst);
        parallel_for(n_features_, n_threads_, [&](std::int64_t p) {
            const auto feature = static_cast<std::int32_t>(p);
            const auto children = children_of(feature);
            if (children.empty()) return;
            auto joint = joint_;
            if (keeps_sums_)
                for (std::size_t i = 0; i < joint.size(); ++i) joint[i] += sums_[p][i];
            else
                for (const auto child : children) terms_.add_arc(feature, child, 1.0, joint.data());
            scores[p] = score_joint(joint, search_);
        });
        if (scores.empty()) return -1;
        const auto best = find_best(scores);
        return scores[best] == kWorst ? -1 : best;
    }

    std::pair<std::int32_t, double> find_favourite_child(std::int32_t superparent) const {
        const auto children = children_of(superparent);
        std::vector<double> scores(children.size());
        parallel_for(static_cast<std::int64_t>(children.size()), n_threads_, [&](std::int64_t i) {
            auto joint = joint_;
            terms_.add_arc(superparent, children[i], 1.0, joint.data());
            scores[i] = score_joint(joint, search_);
        });
        const auto best = find_best(scores);
        return {children[best], scores[best]};
    }

    void add_arc(std::int32_t superparent, std::int32_t child) {
        terms_.add_arc(superparent, child, 1.0, joint_.data());
        if (keeps_sums_) {
            // Each feature has one orphan less: the child, or, if that was the root of its own tree
            // and so not in its sum, the root of the tree that the child joins.
            const auto joined = root(superparent);
            parallel_for(n_features_, n_threads_, [&](std::int64_t p) {
                const auto feature = static_cast<std::int32_t>(p);
                const auto lost = root(feature) == child ? joined : child;
                terms_.add_arc(feature, lost, -1.0, sums_[p].data());
            });
        }
        parent_[child] = superparent;
    }

    const SuperParentSearch& search_;
    int n_threads_;
    ArcTerms terms_;
    std::vector<double> joint_;
    std::int32_t n_features_;
    std::vector<std::int32_t> parent_;
    bool keeps_sums_;
    std::vector<std::vector<double>> sums_;  // per feature: change of the log joint as superparent
};

}  // namespace

SuperParentArcs find_superparents(const SuperParentSearch& search, int n_threads) {
    return Searcher(search, n_threads).run();
}

}  // namespace priorwise
