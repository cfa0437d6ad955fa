#include "scores/factor_product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/parallel.hpp"
#include "common/require.hpp"
#include "scores/score_lookup.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kMinBlock = 1 << 10, kMaxBlock = 1 << 14, kBlocksPerThread = 4;
// Up to this many rows no look-up table is made.
constexpr std::int64_t kFewRows = 1 << 10;

// Arrays that grew by appending have room for up to twice their entries.
ScoreArrays shrink(ScoreArrays arrays) {
    for (auto* part : {&arrays.path, &arrays.value, &arrays.child_start, &arrays.entry_start,
                       &arrays.entry_class, &arrays.cell_start, &arrays.outcome})
        part->shrink_to_fit();
    for (auto* part : {&arrays.n_rows, &arrays.rest, &arrays.score}) part->shrink_to_fit();
    return arrays;
}

ScoreArrays with_classes(ScoreArrays arrays, const std::vector<double>& log_prior) {
    const auto is_number = [](double p) { return p <= std::numeric_limits<double>::max(); };
    require(std::ranges::all_of(log_prior, is_number) &&
                std::ranges::any_of(log_prior, [](double p) { return std::isfinite(p); }),
            "log_prior must be numbers below infinity, one of them finite");
    arrays.n_classes = static_cast<std::int32_t>(log_prior.size());
    return arrays;
}

}  // namespace

FactorProduct::FactorProduct(ScoreArrays arrays, std::vector<double> log_prior)
    : arrays_(with_classes(shrink(std::move(arrays)), log_prior)),
      index_(arrays_),
      log_prior_(std::move(log_prior)) {
    for (std::size_t i = 0; i < n_factors(); ++i) validate(factor(i));
}

void FactorProduct::check_network(std::span<const std::int32_t> arity) const {
    const auto n_features = static_cast<std::int32_t>(arity.size());
    // For each feature, the last factor that it is a parent in; and whether it has a factor.
    std::vector<std::size_t> last_child(arity.size(), n_factors());
    std::vector<char> has_factor(arity.size(), 0);
    std::size_t path_end = 0;
    for (std::size_t i = 0; i < n_factors(); ++i) {
        const auto column = arrays_.column[i];
        require(column < n_features && !has_factor[column],
                "a network must have at most one factor for each feature of the model");
        const auto n_parents = static_cast<std::size_t>(arrays_.n_parents[i]);
        for (const auto parent : std::span(arrays_.path).subspan(path_end, n_parents)) {
            require(parent < n_features && has_factor[parent] && last_child[parent] != i,
                    "parents must differ, and have factors before those of their children");
            last_child[parent] = i;
        }
        path_end += n_parents;
        has_factor[column] = 1;
        require(arity[column] <= arrays_.n_outcomes[i], "a factor lacks values of its feature");
    }
}

void FactorProduct::score(std::span<const std::span<const std::int32_t>> columns,
                          std::int64_t n_rows, bool normalise, int n_threads, double* joint) const {
    const auto n_classes = static_cast<std::int64_t>(log_prior_.size());
    // Blocks of equal size, as few as possible, because each block loads the trees.
    const auto n_shares = std::max<std::int64_t>(1, n_threads) * kBlocksPerThread;
    const auto size = std::clamp((n_rows + n_shares - 1) / n_shares, kMinBlock, kMaxBlock);
    const auto for_blocks = [&](auto&& work) {
        parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t block) {
            work(block * size, std::min(n_rows, (block + 1) * size));
        });
    };
    const auto start = [&](std::int64_t first, std::int64_t last) {
        for (auto row = first; row < last; ++row)
            std::ranges::copy(log_prior_, joint + row * n_classes);
    };
    const auto end = [&](std::int64_t first, std::int64_t last) {
        if (normalise) normalise_joint(last - first, log_prior_, joint + first * n_classes);
    };
    if (n_rows <= kFewRows) {
        for_blocks([&](std::int64_t first, std::int64_t last) {
            start(first, last);
            for (std::size_t i = 0; i < n_factors(); ++i)
                factor(i).add_to(columns, first, last, joint);
            end(first, last);
        });
        return;
    }
    // Look-up tables take many times the memory of the trees, so only a few exist at a time.
    for_blocks(start);
    const auto n_together = static_cast<std::size_t>(std::max(1, n_threads));
    for (std::size_t at = 0; at < n_factors(); at += n_together) {
        std::vector<ScoreTree> trees;
        for (auto i = at; i < std::min(at + n_together, n_factors()); ++i)
            trees.push_back(factor(i));
        std::vector<std::optional<ScoreLookup>> lookups(trees.size());
        parallel_for(std::ssize(trees), n_threads,
                     [&](std::int64_t t) { lookups[t] = ScoreLookup::build(trees[t], n_rows); });
        for_blocks([&](std::int64_t first, std::int64_t last) {
            for (std::size_t t = 0; t < trees.size(); ++t) {
                if (lookups[t])
                    lookups[t]->add_to(trees[t], columns, first, last, joint);
                else
                    trees[t].add_to(columns, first, last, joint);
            }
        });
    }
    for_blocks(end);
}

}  // namespace priorwise
