#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/parallel.hpp"
#include "forests/forest.hpp"

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
    RowSpreader(std::span<const ForestNode> tree, std::span<const double> bandwidth,
                std::span<const Feature> features)
        : tree_(tree), bandwidth_(bandwidth), features_(features) {}

    // Call body(leaf, weight) for every leaf at which a part of the row ends.
    template <class Body>
    void spread(std::int64_t row, Body&& body) {
        parts_.assign(1, {0, 1.0});
        while (!parts_.empty()) {
            const auto part = parts_.back();
            parts_.pop_back();
            const auto& node = tree_[part.node];
            if (node.leaf()) {
                body(part.node, part.weight);
                continue;
            }
            const double x = features_[node.feature()].value_at(row);
            const double distance = x - node.threshold;
            if (divides(part) && !std::isnan(distance))
                divide(part, distance);
            else
                parts_.push_back({node.next(x), part.weight});
        }
    }

  private:
    bool divides(const Part& part) const {
        return bandwidth_[part.node] > 0.0 && std::isfinite(tree_[part.node].threshold) &&
               part.weight >= kLeastPart;
    }

    void divide(const Part& part, double distance) {
        const double z = distance / bandwidth_[part.node];
        const double above = 0.5 * std::erfc(-z / std::numbers::sqrt2);
        const auto first = tree_[part.node].first;
        if (above >= kLeastShare) {
            const double share = above > 1.0 - kLeastShare ? 1.0 : above;
            parts_.push_back({first + 1, part.weight * share});
        }
        if (above <= 1.0 - kLeastShare) {
            const double share = above < kLeastShare ? 1.0 : 1.0 - above;
            parts_.push_back({first, part.weight * share});
        }
    }

    std::span<const ForestNode> tree_;
    std::span<const double> bandwidth_;
    std::span<const Feature> features_;
    std::vector<Part> parts_;
};

}  // namespace

void blend_rows(std::span<const ForestNode> tree, std::span<const std::int32_t> owner,
                std::span<const double> bandwidth, std::span<const Feature> features,
                std::int64_t n_rows, std::span<const double> owner_rows, std::size_t width,
                int n_threads, std::span<double> out) {
    parallel_for((n_rows + kBlock - 1) / kBlock, n_threads, [&](std::int64_t block) {
        const auto first = block * kBlock, last = std::min(n_rows, first + kBlock);
        RowSpreader spreader(tree, bandwidth, features);
        for (auto row = first; row < last; ++row) {
            double* sums = out.data() + static_cast<std::size_t>(row) * width;
            std::fill(sums, sums + width, 0.0);
            spreader.spread(row, [&](std::int32_t leaf, double weight) {
                const double* from =
                    owner_rows.data() + static_cast<std::size_t>(owner[leaf]) * width;
                for (std::size_t k = 0; k < width; ++k) sums[k] += weight * from[k];
            });
        }
    });
}

}  // namespace priorwise
