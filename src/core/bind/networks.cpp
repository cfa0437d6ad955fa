// Bindings of the kernels of src/core/networks.
#include <numeric>

#include "bind/shared/define.hpp"
#include "bind/shared/factors.hpp"
#include "bind/shared/network_queries.hpp"
#include "common/parallel.hpp"
#include "networks/arc_searches.hpp"
#include "networks/select_prefix.hpp"

namespace priorwise {
namespace {

// Rows that are scored at once: tables of the factors are loaded again for each block.
constexpr std::int64_t kScoredBlock = 1 << 13;

// The sums of each block of rows, in the order of the blocks, whichever thread computed them.
template <class Sum, class Add>
std::vector<std::vector<Sum>> sum_by_block(std::int64_t n_rows, std::int64_t block_rows,
                                           std::size_t n_losses, int n_threads, Add&& add) {
    const auto n_blocks = (n_rows + block_rows - 1) / block_rows;
    std::vector<std::vector<Sum>> by_block(static_cast<std::size_t>(n_blocks));
    parallel_for(n_blocks, n_threads, [&](std::int64_t block) {
        by_block[block].resize(n_losses);
        add(block * block_rows, std::min(n_rows, (block + 1) * block_rows),
            std::span<Sum>(by_block[block]));
    });
    return by_block;
}

// A network whose sub-models are scored, and all that does not depend on the rows.
struct SubmodelLosses {
    std::vector<OwnedFactor> factors;
    std::vector<std::vector<double>> weights, probabilities;  // per factor: of nodes, of cells
    std::vector<std::vector<double>> shares, left_out;        // see Shrinkage
    bool towards_parent;
    std::vector<double> class_count;
    std::int32_t max_parents;
    SelectionLoss loss;
    std::optional<RatioTables> tables;

    std::vector<Shrinkage> shrinkage() const {
        std::vector<Shrinkage> result;
        for (std::size_t f = 0; f < factors.size(); ++f) {
            const auto& tree = *factors[f].tree;
            result.push_back({tree.counts, tree.parent_cell, tree.totals, weights[f],
                              probabilities[f], left_out[f], shares[f], towards_parent});
        }
        return result;
    }
};

SubmodelLosses make_submodel_losses(const std::vector<const OwnedFactor*>& factors,
                                    const std::vector<Vector<double>>& weights,
                                    const std::vector<Vector<double>>& probabilities,
                                    bool towards_parent, Vector<double> class_count,
                                    std::int32_t max_parents, const std::string& loss,
                                    bool by_table) {
    const auto n_classes = static_cast<std::int64_t>(class_count.size());
    require(n_classes > 0, "class_count is empty");
    check_finite(view(class_count), "class_count");
    check_size(weights.size(), factors.size(), "weights", "factor");
    check_size(probabilities.size(), factors.size(), "probabilities", "factor");
    const auto kind = choose<SelectionLoss>(
        "loss", loss, {{"squared", SelectionLoss::kSquared}, {"log", SelectionLoss::kLog}});
    std::size_t n_parents = 0;
    for (std::size_t f = 0; f < factors.size(); ++f) {
        const auto& tree = *factors[f]->tree;
        require(factors[f]->index->n_classes == n_classes, "factors differ in classes");
        require(factors[f]->backoff, "factors must back off");
        check_size(weights[f].size(), tree.parent.size(), "weights", "node of the tree");
        check_size(probabilities[f].size(), tree.counts.size(), "probabilities",
                   "cell of the tree");
        n_parents = std::max(n_parents, factors[f]->path.size());
    }
    check_range(max_parents, 0, static_cast<std::int64_t>(n_parents), "max_parents");
    const GilRelease release;
    SubmodelLosses result;
    result.towards_parent = towards_parent;
    result.class_count.assign(class_count.begin(), class_count.end());
    result.max_parents = max_parents;
    result.loss = kind;
    std::vector<Factor> views;
    for (std::size_t f = 0; f < factors.size(); ++f) {
        const auto& tree = *factors[f]->tree;
        result.factors.push_back(*factors[f]);
        result.weights.emplace_back(weights[f].begin(), weights[f].end());
        result.probabilities.emplace_back(probabilities[f].begin(), probabilities[f].end());
        result.shares.push_back(root_shares(tree.parent, tree.totals, weights[f], towards_parent));
        result.left_out.push_back(
            left_out_estimates(tree.view(), tree.totals, weights[f], towards_parent));
        views.push_back(factors[f]->tables());
        views.back().path.assign(factors[f]->path.size(), nullptr);
    }
    if (by_table) {
        const auto shrinkage = result.shrinkage();
        result.tables = RatioTables::build(
            {views, shrinkage, result.class_count, nullptr, nullptr, max_parents, kind});
    }
    return result;
}

// Weighted rows: sums of losses, shape (depths, features + 1). Others: the two parts of the sums as
// LossSum has them, shape (2, depths, features + 1).
nb::object leave_one_out_losses(const SubmodelLosses* submodels, const Columns& columns,
                                Vector<std::int32_t> y, std::optional<Vector<double>> row_weight,
                                int n_threads) {
    const auto n_rows = check_columns(columns);
    const auto n = static_cast<std::size_t>(n_rows);
    const auto& factors = submodels->factors;
    const auto n_classes = static_cast<std::int64_t>(submodels->class_count.size());
    check_size(y.size(), n, "y", "row");
    check_codes(y, n_classes, "y");
    check_weights(row_weight, n, "row_weight");
    for (const auto& factor : factors) check_factor(factor, columns.spans(), n_classes);
    const auto n_depths = static_cast<std::size_t>(submodels->max_parents) + 1;
    const auto n_losses = n_depths * (factors.size() + 1);
    std::vector<double> sums(n_losses, 0.0);
    std::vector<std::int64_t> exact_sums(2 * n_losses, 0);
    without_gil([&] {
        std::vector<Factor> views;
        for (const auto& factor : factors) views.push_back(factor.over(columns.spans()));
        const auto shrinkage = submodels->shrinkage();
        const PrefixSelection selection{views,
                                        shrinkage,
                                        submodels->class_count,
                                        y.data(),
                                        data_or_null(row_weight),
                                        submodels->max_parents,
                                        submodels->loss};
        if (row_weight) {
            const auto by_block = sum_by_block<double>(
                n_rows, kScoredBlock, n_losses, n_threads,
                [&](auto... rows) { add_leave_one_out_losses<double>(selection, rows...); });
            for (const auto& block : by_block)
                for (std::size_t i = 0; i < n_losses; ++i) sums[i] += block[i];
        } else {
            const auto* tables = submodels->tables ? &*submodels->tables : nullptr;
            if (tables && !tables->cover(selection, n_rows)) tables = nullptr;
            // Sums of whole numbers are the same for blocks of any size.
            const auto block_rows =
                std::clamp(n_rows / std::max(1, n_threads), kScoredBlock, 4 * kScoredBlock);
            const auto by_block = sum_by_block<LossSum>(
                n_rows, block_rows, n_losses, n_threads,
                [&](std::int64_t first, std::int64_t last, std::span<LossSum> losses) {
                    if (tables)
                        tables->add_losses(selection, first, last, losses);
                    else
                        add_leave_one_out_losses<LossSum>(selection, first, last, losses);
                });
            for (const auto& block : by_block)
                for (std::size_t i = 0; i < n_losses; ++i) {
                    exact_sums[i] += block[i].high;
                    exact_sums[n_losses + i] += block[i].low;
                }
        }
    });
    const auto n_prefixes = factors.size() + 1;
    if (row_weight) return nb::cast(to_numpy(std::move(sums), {n_depths, n_prefixes}));
    return nb::cast(to_numpy(std::move(exact_sums), {2, n_depths, n_prefixes}));
}

auto find_superparents_of(const Columns& columns, Vector<std::int32_t> arities,
                          Vector<std::int32_t> y, std::int32_t n_classes,
                          std::optional<Vector<double>> weight, const std::string& score,
                          bool leave_one_out, int n_threads) {
    const auto kind = choose<SearchScore>("score", score,
                                          {{"cll", SearchScore::kLikelihood},
                                           {"accuracy", SearchScore::kAccuracy},
                                           {"auc", SearchScore::kAuc}});
    check_at_least(n_classes, 1, "n_classes");
    auto result = without_gil([&] {
        const auto n_rows = check_columns(columns, arities, -1);
        check_size(y.size(), static_cast<std::size_t>(n_rows), "y", "row");
        check_codes(y, n_classes, "y");
        check_weights(weight, y.size(), "weight");
        const double n_cells = n_classes * std::accumulate(arities.begin(), arities.end(), 0.0);
        require_memory(8.0 * n_cells, columns.size() * y.size(), "arities x n_classes", n_cells);
        // Each thread has the joint of all rows twice, and counts of pairs of values twice.
        const auto n_pairs = static_cast<double>(std::max<std::size_t>(256, y.size()));
        require_memory(32.0 * n_classes * n_pairs * static_cast<double>(columns.size()),
                       columns.size() * y.size(), "n_classes", n_classes);
        SuperParentSearch search{{},     arities,   y.data(), data_or_null(weight),
                                 n_rows, n_classes, kind,     leave_one_out};
        for (const auto column : columns) search.columns.push_back(column.data());
        return find_superparents(search, n_threads);
    });
    return std::tuple(to_numpy(std::move(result.parent)), to_numpy(std::move(result.scores)));
}

std::vector<std::vector<std::int64_t>> find_parents_of(Matrix<double> conditional,
                                                       Matrix<double> free,
                                                       Vector<std::int64_t> order,
                                                       std::int64_t max_parents,
                                                       double bias_divisor) {
    const auto n_features = conditional.shape(0);
    check_size(conditional.shape(1), n_features, "a row of conditional", "feature");
    check_size(free.shape(0), n_features, "free", "feature");
    check_at_least(max_parents, 0, "max_parents");
    check_not_negative(bias_divisor, "bias_divisor");
    return without_gil([&] {
        check_distinct_columns(order, n_features, "order");
        check_finite(std::span(conditional.data(), conditional.size()), "conditional");
        check_finite(std::span(free.data(), free.size()), "free");
        return find_parents({{conditional.data(), conditional.size()},
                             {free.data(), free.size()},
                             n_features,
                             free.shape(1),
                             order,
                             static_cast<std::size_t>(max_parents),
                             bias_divisor});
    });
}

std::vector<std::vector<std::int32_t>> climb_hill_of(
    const Columns& columns, Vector<std::int32_t> arities, std::optional<Vector<double>> weight,
    const std::string& score, double equivalent_sample_size, std::int32_t max_parents,
    std::int32_t n_tabu, int n_threads) {
    const auto n_rows = check_columns(columns, arities);
    check_weights(weight, static_cast<std::size_t>(n_rows), "weight");
    require(equivalent_sample_size >= 1e-6 && equivalent_sample_size <= 1e6,
            "equivalent_sample_size must be a number from 1e-06 to 1e+06, got ",
            equivalent_sample_size);
    check_at_least(max_parents, 0, "max_parents");
    check_at_least(n_tabu, 0, "n_tabu");
    for (const auto arity : view(arities))
        require(static_cast<double>(arity) * static_cast<double>(n_rows) < 0x1p58,
                "arities is too large for ", n_rows, " rows, got ", arity);
    const auto n = static_cast<double>(columns.size());
    require_memory(9.0 * n * n, columns.size() * static_cast<std::size_t>(n_rows), "columns",
                   columns.size());
    const auto kind = choose<GraphScore>("search_score", score,
                                         {{"bic", GraphScore::kBic}, {"bdeu", GraphScore::kBdeu}});
    GraphSearch search{{},          arities, data_or_null(weight),
                       n_rows,      kind,    equivalent_sample_size,
                       max_parents, n_tabu,  n_threads};
    for (const auto column : columns) search.columns.push_back(column.data());
    return without_gil([&] { return climb_hill(search); });
}

// The joint probability of each row's evidence and the states of the targets, as a row of a matrix
// that has to be multiplied by exp of the second result. What evidence separates from the targets
// is left out.
auto infer_joint(const NetworkTables& tables, Vector<std::int32_t> evidence,
                 Matrix<std::int32_t> states, Vector<std::int32_t> targets, double max_cells,
                 int n_threads) {
    const NetworkQuery query{std::move(evidence), std::move(states), std::move(targets)};
    query.check(tables, max_cells);
    std::vector<double> joint, scale(query.n_rows());
    const auto n_joint = without_gil([&] {
        const Elimination elimination(tables, query.evidence, query.targets, Goal::kKeep,
                                      max_cells);
        const auto n = elimination.n_joint();
        require(static_cast<double>(n) * static_cast<double>(scale.size()) <= max_cells,
                "states has too many rows, got ", scale.size());
        joint.resize(n * scale.size());
        eliminate_rows(elimination, query, n_threads, [&](auto& run, std::size_t row) {
            if (run.is_possible) elimination.read_joint(run, joint.data() + row * n);
            scale[row] = run.log_scale;
        });
        return n;
    });
    const auto n_rows = scale.size();
    return std::tuple(to_numpy(std::move(joint), {n_rows, n_joint}), to_numpy(std::move(scale)));
}

// The distributions of the targets given each row's evidence, one behind the other; zeros if it
// has the probability zero.
NumpyMatrix infer_marginals(const NetworkTables& tables, Vector<std::int32_t> evidence,
                            Matrix<std::int32_t> states, Vector<std::int32_t> targets,
                            double max_cells, int n_threads) {
    const NetworkQuery query{std::move(evidence), std::move(states), std::move(targets)};
    query.check(tables, max_cells);
    std::size_t width = 0;
    for (const auto i : query.targets) width += tables.arity[i];
    std::vector<double> result(query.n_rows() * width);
    without_gil([&] {
        const Elimination elimination(tables, query.evidence, query.targets, Goal::kSum, max_cells);
        eliminate_rows(elimination, query, n_threads, [&](auto& run, std::size_t row) {
            if (!run.is_possible) return;
            std::vector<std::vector<double>> marginals;
            for (const auto arity : tables.arity) marginals.emplace_back(arity);
            elimination.add_marginals(run, marginals);
            auto* out = result.data() + row * width;
            for (const auto i : query.targets)
                out = std::copy(marginals[i].begin(), marginals[i].end(), out);
        });
    });
    return to_numpy(std::move(result), {query.n_rows(), width});
}

// The states of the targets that are most probable together given each row's evidence; -1 if it
// has the probability zero.
auto infer_best(const NetworkTables& tables, Vector<std::int32_t> evidence,
                Matrix<std::int32_t> states, Vector<std::int32_t> targets, double max_cells,
                int n_threads) {
    const NetworkQuery query{std::move(evidence), std::move(states), std::move(targets)};
    query.check(tables, max_cells);
    const auto width = query.targets.size();
    std::vector<std::int32_t> result(query.n_rows() * width, -1);
    without_gil([&] {
        const Elimination elimination(tables, query.evidence, query.targets, Goal::kMaximise,
                                      max_cells);
        eliminate_rows(elimination, query, n_threads, [&](auto& run, std::size_t row) {
            if (!run.is_possible) return;
            std::vector<std::int32_t> best(tables.arity.size());
            elimination.find_best(run, best.data());
            for (std::size_t k = 0; k < width; ++k)
                result[row * width + k] = best[query.targets[k]];
        });
    });
    return to_numpy(std::move(result), {query.n_rows(), width});
}

// Draws of the ancestors of the evidence given its states, which are one row, by uniform numbers
// of each variable; -1 for other variables, and for all if the evidence has the probability zero.
auto draw_states(const NetworkTables& tables, Vector<std::int32_t> evidence,
                 Matrix<std::int32_t> states, Matrix<double> uniform, double max_cells) {
    const NetworkQuery query{std::move(evidence), std::move(states), {}};
    query.check(tables, max_cells);
    const auto n = tables.arity.size();
    check_size(uniform.shape(1), n, "a row of uniform", "variable");
    check_size(query.n_rows(), 1, "states", "query");
    std::vector<std::int32_t> result(uniform.size(), -1);
    without_gil([&] {
        check_finite(std::span(uniform.data(), uniform.size()), "uniform");
        const Elimination elimination(tables, query.evidence, {}, Goal::kSum, max_cells);
        eliminate_rows(elimination, query, 1, [&](auto& run, std::size_t) {
            for (std::size_t row = 0; row < uniform.shape(0) && run.is_possible; ++row) {
                auto* out = result.data() + row * n;
                for (std::size_t e = 0; e < query.evidence.size(); ++e)
                    out[query.evidence[e]] = query.states[e];
                elimination.draw(run, uniform.data() + row * n, out);
            }
        });
    });
    return to_numpy(std::move(result), {uniform.shape(0), n});
}

}  // namespace

void bind_networks(nb::module_& m) {
    nb::class_<SubmodelLosses> losses(m, "SubmodelLosses");
    define_init(losses, "SubmodelLosses", &make_submodel_losses, "factors", "weights",
                "probabilities", "towards_parent", "class_count", "max_parents", "loss",
                "by_table");
    define(m, "leave_one_out_losses", &leave_one_out_losses, "submodels", "columns", "y",
           "row_weight", "n_threads");
    define(m, "find_parents", &find_parents_of, "conditional", "free", "order", "max_parents",
           "bias_divisor");
    define(m, "climb_hill", &climb_hill_of, "columns", "arities", "weight", "score",
           "equivalent_sample_size", "max_parents", "n_tabu", "n_threads");
    define(m, "find_superparents", &find_superparents_of, "columns", "arities", "y", "n_classes",
           "weight", "score", "leave_one_out", "n_threads");
    nb::class_<NetworkTables> tables(m, "NetworkTables");
    define_init(tables, "NetworkTables", &make_network_tables, "arities", "parents", "tables");
    define(m, "infer_joint", &infer_joint, "tables", "evidence", "states", "targets", "max_cells",
           "n_threads");
    define(m, "infer_marginals", &infer_marginals, "tables", "evidence", "states", "targets",
           "max_cells", "n_threads");
    define(m, "infer_best", &infer_best, "tables", "evidence", "states", "targets", "max_cells",
           "n_threads");
    define(m, "draw_states", &draw_states, "tables", "evidence", "states", "uniform", "max_cells");
}

}  // namespace priorwise
