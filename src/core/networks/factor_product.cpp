#include "networks/factor_product.hpp"

#include <algorithm>
#include <utility>

#include "common/parallel.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kMinBlock = 1 << 10, kMaxBlock = 1 << 14, kBlocksPerThread = 4;
// Tables of factors with more contexts and cells take too much memory to be kept.
constexpr std::int64_t kMaxKept = 1 << 16;

constexpr std::int64_t kFewRows = 4;

// Add the factors of a row. All take a step down their contexts before any takes the next, so that
// their waits for memory overlap; they are added in their order.
void add_row(std::span<const Factor> factors,
             std::span<const std::shared_ptr<const FactorLookup>> lookups, std::int64_t row,
             double* joint) {
    std::vector<FactorLookup::Place> places(factors.size());
    std::size_t depth = 0;
    for (std::size_t f = 0; f < factors.size(); ++f) {
        if (lookups[f]) places[f] = lookups[f]->root();
        depth = std::max(depth, factors[f].path.size());
    }
    for (std::size_t level = 0; level < depth; ++level)
        for (std::size_t f = 0; f < factors.size(); ++f)
            if (lookups[f] && level < factors[f].path.size())
                lookups[f]->step(places[f], factors[f].path[level][row]);
    for (std::size_t f = 0; f < factors.size(); ++f) {
        if (lookups[f])
            lookups[f]->add_row(factors[f], row, places[f].context, joint);
        else
            add_to_joint(factors[f], row, row + 1, joint);
    }
}

}  // namespace

FactorProduct::FactorProduct(std::vector<std::shared_ptr<const OwnedFactor>> factors,
                             std::vector<double> log_prior)
    : factors_(std::move(factors)),
      log_prior_(std::move(log_prior)),
      kept_(factors_.size()),
      tried_(factors_.size()) {
    const auto needs = [&](std::int32_t column) {
        n_columns_ = std::max(n_columns_, static_cast<std::size_t>(column) + 1);
    };
    for (const auto& factor : factors_) {
        needs(factor->column);
        std::ranges::for_each(factor->path, needs);
    }
}

std::vector<FactorProduct::Lookup> FactorProduct::find_lookups(std::span<const Factor> factors,
                                                               std::int64_t n_rows,
                                                               int n_threads) const {
    const std::lock_guard lock(guard_);
    n_scored_ += n_rows;
    auto lookups = kept_;
    std::vector<std::size_t> missing;
    for (std::size_t f = 0; f < factors.size(); ++f) {
        const auto size = FactorLookup::size(factors[f]);
        if (!tried_[f] && (size <= kMaxKept ? n_scored_ : n_rows) > size) missing.push_back(f);
    }
    if (missing.empty()) return lookups;
    parallel_for(static_cast<std::int64_t>(missing.size()), n_threads, [&](std::int64_t i) {
        const auto f = missing[i];
        if (auto lookup = FactorLookup::build(factors[f]))
            lookups[f] = std::make_shared<const FactorLookup>(std::move(*lookup));
    });
    for (const auto f : missing) {
        tried_[f] = FactorLookup::size(factors[f]) <= kMaxKept;
        if (tried_[f]) kept_[f] = lookups[f];
    }
    return lookups;
}

void FactorProduct::score(std::span<const std::span<const std::int32_t>> columns,
                          std::int64_t n_rows, bool normalise, int n_threads, double* joint) const {
    std::vector<Factor> factors;
    factors.reserve(factors_.size());
    for (const auto& factor : factors_) factors.push_back(factor->over(columns));
    const auto lookups = find_lookups(factors, n_rows, n_threads);
    const auto n_classes = static_cast<std::int64_t>(log_prior_.size());
    // Blocks of equal size, as few as possible, because each block loads the tables of the factors.
    const auto n_shares = std::max<std::int64_t>(1, n_threads) * kBlocksPerThread;
    const auto size = std::clamp((n_rows + n_shares - 1) / n_shares, kMinBlock, kMaxBlock);
    parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t block) {
        const auto first = block * size;
        const auto last = std::min(n_rows, first + size);
        for (auto row = first; row < last; ++row)
            std::ranges::copy(log_prior_, joint + row * n_classes);
        if (n_rows <= kFewRows)
            for (auto row = first; row < last; ++row) add_row(factors, lookups, row, joint);
        for (std::size_t f = 0; n_rows > kFewRows && f < factors.size(); ++f) {
            if (lookups[f])
                lookups[f]->add_to(factors[f], first, last, joint);
            else
                add_to_joint(factors[f], first, last, joint);
        }
        if (normalise) normalise_joint(last - first, log_prior_, joint + first * n_classes);
    });
}

}  // namespace priorwise
