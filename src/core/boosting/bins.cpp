#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "boosting/booster.hpp"
#include "common/parallel.hpp"

namespace priorwise {
namespace {

// Edges between neighbouring values: all of them, or those of bins of about equally many rows. A
// bin ends where its rows are nearest to an equal share of the rows that are left, so that a value
// of many rows leaves the other bins to the rest.
std::vector<double> choose_edges(const std::vector<double>& sorted, int max_edges) {
    std::vector<std::size_t> last;  // of each run of equal values but the final one
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
        if (sorted[i] < sorted[i + 1]) last.push_back(i);
    std::vector<double> edges;
    const auto add = [&](std::size_t i) {
        const double middle = sorted[i] + 0.5 * (sorted[i + 1] - sorted[i]);
        const double edge = middle < sorted[i + 1] ? middle : sorted[i];
        if (edges.empty() || edges.back() < edge) edges.push_back(edge);
    };
    if (last.size() <= static_cast<std::size_t>(max_edges)) {
        for (const auto i : last) add(i);
        return edges;
    }
    std::size_t begin = 0;  // the first row of the bin
    int n_left = max_edges;
    for (std::size_t run = 0; run < last.size() && n_left > 0; ++run) {
        const auto size = static_cast<double>(last[run] + 1 - begin);
        const double share = static_cast<double>(sorted.size() - begin) / (n_left + 1);
        const auto next = run + 1 < last.size() ? last[run + 1] : sorted.size() - 1;
        // The next value would take the bin further beyond its share than it is below it now.
        if (static_cast<double>(next + 1 - begin) - share < share - size) continue;
        add(last[run]);
        begin = last[run] + 1;
        --n_left;
    }
    return edges;
}

// The numbers of a feature that are not missing, in ascending order.
std::vector<double> sort_numbers(const Feature& feature, std::int64_t n_rows) {
    std::vector<double> sorted;
    sorted.reserve(static_cast<std::size_t>(n_rows));
    for (std::int64_t r = 0; r < n_rows; ++r)
        if (!std::isnan(feature.number_at(r))) sorted.push_back(feature.number_at(r));
    sort_polling(sorted.begin(), sorted.end(), std::less{});
    return sorted;
}

// How often each code up to the largest occurs.
std::vector<std::int64_t> count_codes(const Feature& feature, std::int64_t n_rows) {
    std::vector<std::int64_t> count;
    for (std::int64_t r = 0; r < n_rows; ++r) {
        const auto c = static_cast<std::size_t>(feature.code_at(r));
        if (c >= count.size()) count.resize(c + 1);
        ++count[c];
    }
    return count;
}

// All codes in ascending order, or the most frequent ones first if they are too many.
std::vector<std::int32_t> choose_codes(const std::vector<std::int64_t>& count) {
    std::vector<std::int32_t> frequent(count.size());
    std::iota(frequent.begin(), frequent.end(), 0);
    if (count.size() <= BoostBins::kMaxCodes) return frequent;
    std::stable_sort(frequent.begin(), frequent.end(),
                     [&](auto a, auto b) { return count[a] > count[b]; });
    frequent.resize(BoostBins::kMaxCodes);
    return frequent;
}

}  // namespace

std::vector<double> choose_bins(const Feature& feature, std::int64_t n_rows, int max_cuts) {
    if (!feature.nominal()) return choose_edges(sort_numbers(feature, n_rows), max_cuts);
    const auto codes = choose_codes(count_codes(feature, n_rows));
    return {codes.begin(), codes.end()};
}

BoostBins::FeatureBins BoostBins::FeatureBins::numbers(std::span<const double> edges) {
    FeatureBins bins;
    bins.edge.assign(edges.begin(), edges.end());
    bins.edge.push_back(std::numeric_limits<double>::infinity());  // missing against the rest
    bins.missing = static_cast<int>(bins.edge.size());
    bins.n_bins = bins.missing + 1;
    return bins;
}

BoostBins::FeatureBins BoostBins::FeatureBins::codes(std::span<const double> codes) {
    FeatureBins bins;
    bins.nominal = true;
    bins.edge.assign(codes.begin(), codes.end());
    bins.missing = static_cast<int>(bins.edge.size());
    bins.n_bins = bins.missing + 1;
    return bins;
}

BoostBins::BoostBins(std::span<const Feature> features, std::int64_t n_rows, int n_threads)
    : n_rows_(n_rows),
      features_(features.size()),
      bin_(features.size() * static_cast<std::size_t>(n_rows)) {
    const auto n_features = static_cast<std::int64_t>(features.size());
    parallel_for(n_features, n_threads, [&](std::int64_t f) {
        auto* bin = bin_.data() + f * n_rows;
        features_[f].nominal = features[f].nominal();
        if (features_[f].nominal)
            code(features[f], features_[f], bin);
        else
            cut(features[f], features_[f], bin);
    });
    turn(n_threads);
}

// Fill by_row_. Pieces of rows stay in the nearest cache while column after column is written.
void BoostBins::turn(int n_threads) {
    constexpr std::int64_t kPiece = 256;
    const auto n_features = static_cast<std::int64_t>(features_.size());
    by_row_.resize(bin_.size());
    parallel_for((n_rows_ + kPiece - 1) / kPiece, n_threads, [&](std::int64_t piece) {
        const auto begin = piece * kPiece, end = std::min(n_rows_, begin + kPiece);
        for (std::int64_t f = 0; f < n_features; ++f)
            for (auto r = begin; r < end; ++r) by_row_[r * n_features + f] = bin_[f * n_rows_ + r];
    });
    rows_ = by_row_.data();
}

void BoostBins::cut(const Feature& feature, FeatureBins& bins, std::uint8_t* bin) const {
    const auto sorted = sort_numbers(feature, n_rows_);
    const bool some_missing = sorted.size() < static_cast<std::size_t>(n_rows_);
    bins.edge = choose_edges(sorted, n_rows_ <= kFewRows ? kFineCuts : kMaxCuts);
    bins.n_bins = static_cast<int>(bins.edge.size()) + 1;
    if (some_missing) bins = FeatureBins::numbers(bins.edge);
    for (std::int64_t r = 0; r < n_rows_; ++r) {
        const double x = feature.number_at(r);
        const auto found = std::lower_bound(bins.edge.begin(), bins.edge.end(), x);
        bin[r] =
            static_cast<std::uint8_t>(std::isnan(x) ? bins.missing : found - bins.edge.begin());
    }
}

void BoostBins::code(const Feature& feature, FeatureBins& bins, std::uint8_t* bin) const {
    const auto count = count_codes(feature, n_rows_);
    const auto frequent = choose_codes(count);
    bins.n_bins = static_cast<int>(frequent.size());
    if (frequent.size() < count.size()) bins.missing = bins.n_bins++;
    std::vector<int> bin_of(count.size(), bins.missing);
    for (std::size_t b = 0; b < frequent.size(); ++b) bin_of[frequent[b]] = static_cast<int>(b);
    bins.edge.assign(frequent.begin(), frequent.end());
    for (std::int64_t r = 0; r < n_rows_; ++r)
        bin[r] = static_cast<std::uint8_t>(bin_of[feature.code_at(r)]);
}

}  // namespace priorwise
