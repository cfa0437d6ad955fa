#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/parallel.hpp"
#include "trees/route.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kBlock = 1 << 9;
// A part of a row of less weight than this is not split further; it follows the hard threshold.
constexpr double kLeastPart = 1e-4;
constexpr double kLeastShare = 1e-6;

struct Part {
    std::int32_t node;
    double weight;
};

class RowSpreader {
  public:
    RowSpreader(const DecisionTree& tree, std::span<const double> bandwidth,
                std::span<const Feature> features)
        : tree_(tree), bandwidth_(bandwidth), features_(features) {}

    // Call body(node, weight) for every node at which a part of the row ends.
    template <class Body>
    void spread(std::int64_t row, Body&& body) {
        parts_.assign(1, {0, 1.0});
        while (!parts_.empty()) {
            const auto part = parts_.back();
            parts_.pop_back();
            if (divides(part)) {
                const auto& feature = features_[tree_.feature[part.node]];
                const double distance = feature.number_at(row) - tree_.threshold[part.node];
                if (!std::isnan(distance)) {
                    divide(part, distance);
                    continue;
                }
            }
            const auto child = step_down(tree_, features_, part.node, row);
            if (child < 0)
                body(part.node, part.weight);
            else
                parts_.push_back({child, part.weight});
        }
    }

  private:
    bool divides(const Part& part) const {
        return static_cast<SplitKind>(tree_.kind[part.node]) == SplitKind::kNumeric &&
               bandwidth_[part.node] > 0.0 && std::isfinite(tree_.threshold[part.node]) &&
               part.weight >= kLeastPart;
    }

    void divide(const Part& part, double distance) {
        const double z = distance / bandwidth_[part.node];
        const double above = 0.5 * std::erfc(-z / std::numbers::sqrt2);
        const auto first = tree_.steps[part.node].first_child;
        if (above >= kLeastShare) {
            const double share = above > 1.0 - kLeastShare ? 1.0 : above;
            parts_.push_back({first + 1, part.weight * share});
        }
        if (above <= 1.0 - kLeastShare) {
            const double share = above < kLeastShare ? 1.0 : 1.0 - above;
            parts_.push_back({first, part.weight * share});
        }
    }

    const DecisionTree& tree_;
    std::span<const double> bandwidth_;
    std::span<const Feature> features_;
    std::vector<Part> parts_;
};

}  // namespace

void blend_rows(const DecisionTree& tree, std::span<const double> bandwidth,
                std::span<const Feature> features, std::int64_t n_rows,
                std::span<const double> node_rows, int n_threads, std::span<double> out) {
    const auto width = node_rows.size() / tree.n_nodes();
    parallel_for((n_rows + kBlock - 1) / kBlock, n_threads, [&](std::int64_t block) {
        const auto first = block * kBlock, last = std::min(n_rows, first + kBlock);
        if (bandwidth.empty()) {
            std::int32_t leaf[kBlock];
            find_leaves(tree, features, first, last, leaf);
            for (auto row = first; row < last; ++row)
                std::copy_n(node_rows.data() + static_cast<std::size_t>(leaf[row - first]) * width,
                            width, out.data() + static_cast<std::size_t>(row) * width);
            return;
        }
        RowSpreader spreader(tree, bandwidth, features);
        for (auto row = first; row < last; ++row) {
            double* sums = out.data() + static_cast<std::size_t>(row) * width;
            std::fill(sums, sums + width, 0.0);
            spreader.spread(row, [&](std::int32_t node, double weight) {
                const double* from = node_rows.data() + static_cast<std::size_t>(node) * width;
                for (std::size_t k = 0; k < width; ++k) sums[k] += weight * from[k];
            });
        }
    });
}

}  // namespace priorwise
