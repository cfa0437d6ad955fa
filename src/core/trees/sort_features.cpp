#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/parallel.hpp"
#include "trees/splits.hpp"

namespace priorwise {
namespace {

struct Keyed {
    double key;
    std::int32_t row;
};

void sort_numbers(const Feature& feature, std::span<std::int32_t> row,
                  std::span<std::int32_t> rank) {
    std::vector<Keyed> known;
    std::vector<std::int32_t> missing;
    known.reserve(row.size());
    for (std::size_t r = 0; r < row.size(); ++r) {
        const double x = feature.number_at(static_cast<std::int64_t>(r));
        if (std::isnan(x))
            missing.push_back(static_cast<std::int32_t>(r));
        else
            known.push_back({x, static_cast<std::int32_t>(r)});
    }
    sort_polling(known.begin(), known.end(), [](const Keyed& a, const Keyed& b) {
        return a.key < b.key || (a.key == b.key && a.row < b.row);
    });
    std::int32_t distinct = -1;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (i == 0 || known[i].key != known[i - 1].key) ++distinct;
        row[i] = known[i].row;
        rank[i] = distinct;
    }
    std::ranges::copy(missing, row.begin() + static_cast<std::ptrdiff_t>(known.size()));
    std::fill(rank.begin() + static_cast<std::ptrdiff_t>(known.size()), rank.end(), kMissingRank);
}

void sort_codes(const Feature& feature, std::span<std::int32_t> row, std::span<std::int32_t> rank) {
    std::int32_t largest = -1;
    for (std::size_t r = 0; r < row.size(); ++r)
        largest = std::max(largest, feature.code_at(static_cast<std::int64_t>(r)));
    std::vector<std::int64_t> place(static_cast<std::size_t>(largest) + 2, 0);
    for (std::size_t r = 0; r < row.size(); ++r)
        ++place[feature.code_at(static_cast<std::int64_t>(r)) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (std::size_t r = 0; r < row.size(); ++r) {
        const auto code = feature.code_at(static_cast<std::int64_t>(r));
        const auto i = place[code]++;
        row[i] = static_cast<std::int32_t>(r);
        rank[i] = code;
    }
}

}  // namespace

void sort_features(std::span<const Feature> features, std::int64_t n_rows, int n_threads,
                   std::span<std::int32_t> row, std::span<std::int32_t> rank) {
    const auto n = static_cast<std::size_t>(n_rows);
    parallel_for(static_cast<std::int64_t>(features.size()), n_threads, [&](std::int64_t f) {
        const auto first = static_cast<std::size_t>(f) * n;
        const auto sort = features[f].nominal() ? sort_codes : sort_numbers;
        sort(features[f], row.subspan(first, n), rank.subspan(first, n));
    });
}

}  // namespace priorwise
