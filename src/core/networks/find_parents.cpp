#include <algorithm>
#include <utility>

#include "common/interrupt.hpp"
#include "networks/arc_searches.hpp"

namespace priorwise {

std::vector<std::vector<std::int64_t>> find_parents(const ParentSearch& search) {
    std::vector<std::vector<std::int64_t>> parents(search.order.size());
    std::vector<std::pair<double, std::int64_t>> scores;  // of earlier features, by their places
    WorkPoll poll;
    for (std::size_t place = 0; place < search.order.size(); ++place) {
        poll.add(static_cast<std::int64_t>(place * search.n_classes) + 1);
        const auto child = static_cast<std::size_t>(search.order[place]);
        const auto* conditional = search.conditional.data() + child * search.n_features;
        const auto* free = search.free.data() + child * search.n_classes;
        scores.clear();
        for (std::size_t j = 0; j < place; ++j) {
            const auto earlier = static_cast<std::size_t>(search.order[j]);
            double score = conditional[earlier];
            if (search.bias_divisor > 0.0) {
                // Sums of whole numbers, which are exact.
                double product = 0.0;
                for (std::size_t y = 0; y < search.n_classes; ++y)
                    product += search.free[earlier * search.n_classes + y] * free[y];
                score -= product / search.bias_divisor;
                if (!(score > 0.0)) continue;
            }
            scores.emplace_back(-score, static_cast<std::int64_t>(j));
        }
        const auto n_best = std::min(search.max_parents, scores.size());
        std::partial_sort(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(n_best),
                          scores.end());
        for (std::size_t i = 0; i < n_best; ++i)
            parents[place].push_back(search.order[static_cast<std::size_t>(scores[i].second)]);
    }
    return parents;
}

}  // namespace priorwise
