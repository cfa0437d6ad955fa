#include "networks/joint_score.hpp"

#include <algorithm>
#include <cmath>

#include "common/interrupt.hpp"

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

}  // namespace

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

double score_accuracy(std::span<const double> joint, const SuperParentSearch& search) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < search.n_rows; ++r) {
        const double* row = joint.data() + r * search.n_classes;
        if (std::max_element(row, row + search.n_classes) - row == search.y[r])
            sum += row_weight(search, r);
    }
    return sum;
}

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
    switch (search.score) {
        case SearchScore::kAccuracy:
            return score_accuracy(joint, search);
        case SearchScore::kAuc:
            return score_auc(joint, search);
        default:
            return score_likelihood(joint, search);
    }
}

}  // namespace priorwise
