#include "networks/superparent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/parallel.hpp"
#include "networks/arc_terms.hpp"
#include "networks/joint_score.hpp"

namespace priorwise {
namespace {

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
