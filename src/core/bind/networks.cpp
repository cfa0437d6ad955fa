// Bindings of the kernels of src/core/networks.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/factor.hpp"
#include "common/parallel.hpp"
#include "counts/factor_lookup.hpp"
#include "networks/select_prefix.hpp"
#include "networks/select_ratios.hpp"
#include "networks/superparent.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

constexpr std::int64_t kMinBlock = 1 << 10, kMaxBlock = 1 << 14, kBlocksPerThread = 4;
// Rows that are scored at once: tables of the factors are loaded again for each block.
constexpr std::int64_t kScoredBlock = 1 << 13;

NumpyMatrix predict_joint(nb::list factors, Vector<double> log_prior, const Columns& columns,
                          bool normalise, int n_threads) {
    const auto n_rows = count_rows(columns);
    std::vector<HeldFactor> held;
    held.reserve(nb::len(factors));
    for (const auto factor : factors) held.emplace_back(factor, columns);
    std::vector<Factor> views;
    for (auto& factor : held) {
        require(static_cast<std::size_t>(factor.view.n_classes) == log_prior.shape(0),
                "factors and log_prior differ in classes");
        views.push_back(factor.view);
    }
    const auto n_classes = static_cast<std::int64_t>(log_prior.shape(0));
    std::vector<double> joint(static_cast<std::size_t>(n_rows * n_classes));
    {
        nb::gil_scoped_release release;
        std::vector<std::optional<FactorLookup>> lookups(views.size());
        parallel_for(static_cast<std::int64_t>(views.size()), n_threads, [&](std::int64_t f) {
            if (FactorLookup::pays(views[f], n_rows)) lookups[f] = FactorLookup::build(views[f]);
        });
        // Blocks of equal size, as few as possible, because each block loads the tables of the
        // factors.
        const auto n_shares = std::max(1, n_threads) * kBlocksPerThread;
        const auto size = std::clamp((n_rows + n_shares - 1) / n_shares, kMinBlock, kMaxBlock);
        parallel_for((n_rows + size - 1) / size, n_threads, [&](std::int64_t block) {
            const auto first = block * size;
            const auto last = std::min(n_rows, first + size);
            for (auto row = first; row < last; ++row)
                std::ranges::copy(view(log_prior), joint.data() + row * n_classes);
            for (std::size_t f = 0; f < views.size(); ++f) {
                if (lookups[f])
                    lookups[f]->add_to(views[f], first, last, joint.data());
                else
                    add_to_joint(views[f], first, last, joint.data());
            }
            if (normalise)
                normalise_joint(last - first, view(log_prior), joint.data() + first * n_classes);
        });
    }
    return to_numpy(std::move(joint), static_cast<std::size_t>(n_rows));
}

NumpyMatrix normalise_joint_of(nb::ndarray<const double, nb::ndim<2>, nb::c_contig> joint,
                               Vector<double> log_prior) {
    const auto n_rows = joint.shape(0);
    require(joint.shape(1) == log_prior.shape(0), "joint and log_prior differ in classes");
    std::vector<double> proba(joint.data(), joint.data() + joint.size());
    {
        nb::gil_scoped_release release;
        normalise_joint(static_cast<std::int64_t>(n_rows), view(log_prior), proba.data());
    }
    return to_numpy(std::move(proba), n_rows);
}

// The sums of each block of rows, in the order of the blocks, whichever thread computed them.
template <class Sum, class Add>
std::vector<std::vector<Sum>> sum_by_block(std::int64_t n_rows, std::size_t n_losses, int n_threads,
                                           Add&& add) {
    const auto n_blocks = (n_rows + kScoredBlock - 1) / kScoredBlock;
    std::vector<std::vector<Sum>> by_block(static_cast<std::size_t>(n_blocks));
    parallel_for(n_blocks, n_threads, [&](std::int64_t block) {
        by_block[block].resize(n_losses);
        add(block * kScoredBlock, std::min(n_rows, (block + 1) * kScoredBlock),
            std::span<Sum>(by_block[block]));
    });
    return by_block;
}

// Weighted rows: sums of losses, shape (depths, features + 1). Others: the two parts of the sums as
// LossSum has them, shape (2, depths, features + 1).
nb::object leave_one_out_losses(nb::list factors, nb::list weights, nb::list probabilities,
                                bool towards_parent, Vector<double> class_count,
                                const Columns& columns, Vector<std::int32_t> y,
                                std::optional<Vector<double>> row_weight, std::int32_t max_parents,
                                const std::string& loss, bool by_table, int n_threads) {
    const auto n_rows = count_rows(columns);
    require(static_cast<std::int64_t>(y.shape(0)) == n_rows, "y and columns differ in length");
    require(!row_weight || static_cast<std::int64_t>(row_weight->shape(0)) == n_rows,
            "row_weight and columns differ in length");
    require(loss == "squared" || loss == "log",
            [&] { return "loss must be 'squared' or 'log', got " + loss; });
    const auto n_features = nb::len(factors);
    require(nb::len(weights) == n_features, "weights needs one array per factor");
    std::vector<HeldFactor> held;
    held.reserve(n_features);
    std::vector<Vector<double>> totals, held_weights, held_p;
    std::vector<Factor> views;
    std::vector<Shrinkage> shrinkage;
    std::vector<std::vector<double>> shares, left_out;
    shares.reserve(n_features);
    for (std::size_t f = 0; f < n_features; ++f) {
        held.emplace_back(factors[f], columns);
        totals.push_back(nb::cast<Vector<double>>(factors[f].attr("tree").attr("totals")));
        held_weights.push_back(nb::cast<Vector<double>>(weights[f]));
        held_p.push_back(nb::cast<Vector<double>>(probabilities[f]));
        const auto& tree = held.back().tree.view;
        require(held_p.back().shape(0) == tree.counts.size(), "one probability per cell");
        require(held_weights.back().shape(0) == tree.parent.size(), "one weight per node");
        views.push_back(held.back().view);
        shares.push_back(root_shares(tree.parent, view(totals.back()), view(held_weights.back()),
                                     towards_parent));
        left_out.push_back(left_out_estimates(tree, view(totals.back()), view(held_weights.back()),
                                              towards_parent));
        shrinkage.push_back({tree.counts, tree.parent_cell, view(totals.back()),
                             view(held_weights.back()), view(held_p.back()), left_out.back(),
                             shares.back(), towards_parent});
    }
    const PrefixSelection selection{views,
                                    shrinkage,
                                    view(class_count),
                                    y.data(),
                                    row_weight ? row_weight->data() : nullptr,
                                    max_parents,
                                    loss == "log" ? SelectionLoss::kLog : SelectionLoss::kSquared};
    const auto n_losses = static_cast<std::size_t>(max_parents + 1) * (n_features + 1);
    const auto n_depths = static_cast<std::size_t>(max_parents + 1);
    std::vector<double> sums(n_losses, 0.0);
    std::vector<std::int64_t> exact_sums(2 * n_losses, 0);
    {
        nb::gil_scoped_release release;
        if (row_weight) {
            const auto by_block = sum_by_block<double>(
                n_rows, n_losses, n_threads,
                [&](auto... rows) { add_leave_one_out_losses<double>(selection, rows...); });
            for (const auto& block : by_block)
                for (std::size_t i = 0; i < n_losses; ++i) sums[i] += block[i];
        } else {
            auto tables = by_table ? RatioTables::build(selection) : std::nullopt;
            if (tables && !tables->cover(n_rows)) tables.reset();
            const auto by_block = sum_by_block<LossSum>(
                n_rows, n_losses, n_threads,
                [&](std::int64_t first, std::int64_t last, std::span<LossSum> losses) {
                    if (tables)
                        tables->add_losses(first, last, losses);
                    else
                        add_leave_one_out_losses<LossSum>(selection, first, last, losses);
                });
            for (const auto& block : by_block)
                for (std::size_t i = 0; i < n_losses; ++i) {
                    exact_sums[i] += block[i].high;
                    exact_sums[n_losses + i] += block[i].low;
                }
        }
    }
    if (row_weight) return nb::cast(to_numpy(std::move(sums), n_depths));
    return nb::cast(to_numpy(std::move(exact_sums))).attr("reshape")(2, n_depths, -1);
}

SearchScore score_of_name(const std::string& name) {
    if (name == "cll") return SearchScore::kLikelihood;
    if (name == "accuracy") return SearchScore::kAccuracy;
    if (name == "auc") return SearchScore::kAuc;
    throw std::invalid_argument("score must be 'cll', 'accuracy' or 'auc', got " + name);
}

auto find_superparents_of(const Columns& columns, Vector<std::int32_t> arities,
                          Vector<std::int32_t> y, std::int32_t n_classes,
                          std::optional<Vector<double>> weight, const std::string& score,
                          bool leave_one_out, int n_threads) {
    const auto n_rows = y.shape(0);
    require(!weight || weight->shape(0) == n_rows, "weight and y differ in length");
    SuperParentSearch search{{},
                             view(arities),
                             y.data(),
                             weight ? weight->data() : nullptr,
                             static_cast<std::int64_t>(n_rows),
                             n_classes,
                             score_of_name(score),
                             leave_one_out};
    check_codes(view(y), n_classes, "y");
    require(columns.empty() || columns[0].shape(0) == n_rows, "columns and y differ in length");
    check_columns(columns, view(arities));
    for (std::size_t i = 0; i < columns.size(); ++i) {
        search.columns.push_back(columns[i].data());
    }
    SuperParentArcs found;
    {
        nb::gil_scoped_release release;
        found = find_superparents(search, n_threads);
    }
    return std::tuple(to_numpy(std::move(found.parent)), to_numpy(std::move(found.scores)));
}

}  // namespace

void bind_networks(nb::module_& m) {
    m.def("predict_joint", &predict_joint, "factors"_a, "log_prior"_a, "columns"_a, "normalise"_a,
          "n_threads"_a);
    m.def("normalise_joint", &normalise_joint_of, "joint"_a, "log_prior"_a);
    m.def("leave_one_out_losses", &leave_one_out_losses, "factors"_a, "weights"_a,
          "probabilities"_a, "towards_parent"_a, "class_count"_a, "columns"_a, "y"_a,
          "row_weight"_a.none(), "max_parents"_a, "loss"_a, "by_table"_a, "n_threads"_a);
    m.def("find_superparents", &find_superparents_of, "columns"_a, "arities"_a, "y"_a,
          "n_classes"_a, "weight"_a.none(), "score"_a, "leave_one_out"_a, "n_threads"_a);
}

}  // namespace priorwise
