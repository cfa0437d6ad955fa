// Bindings of the kernels of src/core/scores.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "bind/shared/arrays.hpp"
#include "bind/shared/checks.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/factors.hpp"
#include "cuts/cuts.hpp"
#include "scores/factor_product.hpp"

namespace priorwise {
namespace {

FactorProduct make_product(Numbers<double> log_prior, Numbers<std::int32_t> column,
                           Numbers<std::int32_t> n_outcomes, Numbers<std::int32_t> n_parents,
                           Numbers<std::int32_t> n_contexts, Numbers<std::int32_t> n_entries,
                           Numbers<std::int32_t> n_cells, Numbers<std::uint8_t> rest_towards_parent,
                           Numbers<std::uint8_t> is_dense, Numbers<std::int32_t> path,
                           Numbers<std::int32_t> value, Numbers<std::int32_t> child_start,
                           Numbers<std::int32_t> entry_start, Numbers<std::int32_t> entry_class,
                           Numbers<float> n_rows, Numbers<float> rest,
                           Numbers<std::int32_t> cell_start, Numbers<std::int32_t> outcome,
                           Numbers<float> score) {
    check_range(log_prior.size(), 1, std::numeric_limits<std::int32_t>::max(),
                "classes of log_prior");
    return without_gil([&] {
        return FactorProduct(
            {static_cast<std::int32_t>(log_prior.size()), copy(column), copy(n_outcomes),
             copy(n_parents), copy(n_contexts), copy(n_entries), copy(n_cells),
             copy(rest_towards_parent), copy(is_dense), copy(path), copy(value), copy(child_start),
             copy(entry_start), copy(entry_class), copy(n_rows), copy(rest), copy(cell_start),
             copy(outcome), copy(score)},
            copy(log_prior));
    });
}

void check_network(const FactorProduct& product, Vector<std::int32_t> arity) {
    product.check_network(arity);
}

// A product of one factor, with a prior of zeros.
FactorProduct pack_scores_of(const OwnedFactor& factor, double min_rows) {
    const GilRelease release;
    auto arrays = pack_scores(factor, min_rows);
    std::vector<double> log_prior(static_cast<std::size_t>(arrays.n_classes), 0.0);
    return {std::move(arrays), std::move(log_prior)};
}

// The factors of all products.
FactorProduct join_products(const std::vector<const FactorProduct*>& products,
                            Vector<double> log_prior) {
    require(log_prior.size() > 0, "log_prior is empty");
    const GilRelease release;
    ScoreArrays arrays;
    for (const auto* product : products) {
        require(product->log_prior().size() == log_prior.size(),
                "products and log_prior differ in classes");
        for (std::size_t i = 0; i < product->n_factors(); ++i) arrays.append(product->factor(i));
    }
    return {std::move(arrays), copy(log_prior)};
}

// A factor of a product.
ScoreTree factor_at(const FactorProduct& product, std::int64_t place) {
    check_range(place, 0, static_cast<std::int64_t>(product.n_factors()) - 1, "place");
    return product.factor(static_cast<std::size_t>(place));
}

// The product of one of the factors, with a prior of zeros.
FactorProduct take_factor(const FactorProduct& product, std::int64_t place) {
    ScoreArrays arrays;
    arrays.append(factor_at(product, place));
    return {std::move(arrays), std::vector<double>(product.log_prior().size(), 0.0)};
}

// Rows behind the score of each row and class in one factor, and how many of the class and the
// parents it does not use.
auto find_support(const FactorProduct& product, std::int64_t place, const Columns& columns) {
    const auto tree = factor_at(product, place);
    const auto n_rows = static_cast<std::size_t>(check_columns(columns));
    const auto width = static_cast<std::size_t>(tree.n_classes);
    std::vector<float> support(n_rows * width);
    std::vector<std::int32_t> n_unused(support.size());
    without_gil([&] {
        check_score_tree(tree, columns.spans());
        tree.find_support(columns.spans(), static_cast<std::int64_t>(n_rows), support.data(),
                          n_unused.data());
    });
    return std::tuple(to_numpy(std::move(support), {n_rows, width}),
                      to_numpy(std::move(n_unused), {n_rows, width}));
}

NumpyMatrix predict_joint(const FactorProduct& network, const Columns& columns, bool normalise,
                          int n_threads) {
    const auto n_rows = check_columns(columns);
    const auto n_classes = network.log_prior().size();
    std::vector<double> joint(static_cast<std::size_t>(n_rows) * n_classes);
    without_gil([&] {
        for (std::size_t i = 0; i < network.n_factors(); ++i)
            check_score_tree(network.factor(i), columns.spans());
        network.score(columns.spans(), n_rows, normalise, n_threads, joint.data());
    });
    return to_numpy(std::move(joint), {static_cast<std::size_t>(n_rows), n_classes});
}

// A network, and where it cuts each numeric feature.
struct CutNetwork {
    std::shared_ptr<const FactorProduct> network;
    std::vector<double> points;          // of all features, one behind the other
    std::vector<std::int32_t> n_points;  // per feature
    std::vector<std::size_t> start;      // per feature

    std::span<const double> cut_points(std::size_t feature) const {
        return {points.data() + start[feature], static_cast<std::size_t>(n_points[feature])};
    }
};

CutNetwork make_cut_network(std::shared_ptr<const FactorProduct> network, Vector<double> points,
                            Vector<std::int32_t> n_points) {
    CutNetwork made{std::move(network), copy(points), copy(n_points), {}};
    std::size_t end = 0;
    for (const auto n : made.n_points) {
        check_at_least(n, 0, "n_points");
        made.start.push_back(end);
        end += static_cast<std::size_t>(n);
    }
    check_size(points.size(), end, "points", "cut point of n_points");
    return made;
}

// A network that may read codes of nominal features as they are, and the bins that it cuts the
// features at `positions` into.
void check_bins(const CutNetwork& network, std::span<const std::span<const std::int32_t>> columns,
                std::span<const std::int32_t> missing_seen,
                std::span<const std::int64_t> positions) {
    check_size(network.n_points.size(), positions.size(), "n_points", "feature");
    std::vector<std::int64_t> n_bins(columns.size(), -1);
    for (std::size_t i = 0; i < positions.size(); ++i)
        n_bins[positions[i]] = std::int64_t{network.n_points[i]} + 1 + (missing_seen[i] != 0);
    for (std::size_t f = 0; f < network.network->n_factors(); ++f) {
        const auto tree = network.network->factor(f);
        const auto column = check_column(tree.column, columns.size(), "the column of a factor");
        if (n_bins[column] < 0)
            check_codes(columns[column], tree.n_outcomes, "codes", tree.column, -1);
        else
            check_range(n_bins[column], 1, tree.n_outcomes, "the number of bins");
        for (const auto parent : tree.path)
            check_column(parent, columns.size(), "the path of a factor");
    }
}

// The mean of the networks' probabilities. `codes` (features x rows) holds the codes of nominal
// features; the rows at `positions` are filled with the bins of `values` for each network in turn.
NumpyMatrix average_networks(const std::vector<const CutNetwork*>& networks, Matrix<double> values,
                             Vector<std::int32_t> missing_seen, Vector<std::int64_t> positions,
                             Array<std::int32_t, 2> codes, int n_threads) {
    require(!networks.empty(), "networks is empty");
    const auto n_rows = static_cast<std::int64_t>(codes.shape(1));
    check_range(n_rows, 0, std::numeric_limits<std::int32_t>::max(), "rows of codes");
    check_size(values.shape(1), codes.shape(1), "values", "row of codes");
    check_size(missing_seen.size(), values.shape(0), "missing_seen", "feature");
    check_size(positions.size(), values.shape(0), "positions", "feature");
    check_distinct_columns(view(positions), codes.shape(0), "positions");
    const auto n_classes = networks[0]->network->log_prior().size();
    require_memory(16.0 * static_cast<double>(n_rows) * static_cast<double>(n_classes),
                   codes.size() + values.size(), "the number of rows", n_rows);
    std::vector<double> total(codes.shape(1) * n_classes), proba(total.size());
    without_gil([&] {
        std::vector<std::span<const std::int32_t>> columns;
        for (std::size_t c = 0; c < codes.shape(0); ++c)
            columns.emplace_back(codes.data() + c * codes.shape(1), codes.shape(1));
        for (const auto* one : networks) {
            require(one->network->log_prior().size() == n_classes, "networks differ in classes");
            check_bins(*one, columns, missing_seen, positions);
        }
        for (const auto* one : networks) {
            std::vector<CutFeature> features;
            for (std::size_t i = 0; i < values.shape(0); ++i) {
                const auto points = one->cut_points(i);
                const auto missing = static_cast<std::int32_t>(points.size()) + 1;
                features.push_back({points, missing_seen[i] ? missing : -1, positions[i]});
            }
            cut_table(features, values.data(), n_rows, codes.data(), n_threads);
            one->network->score(columns, n_rows, true, n_threads, proba.data());
            for (std::size_t i = 0; i < total.size(); ++i) total[i] += proba[i];
        }
        for (auto& sum : total) sum /= static_cast<double>(networks.size());
    });
    return to_numpy(std::move(total), {codes.shape(1), n_classes});
}

NumpyMatrix normalise_joint_of(Matrix<double> joint, Vector<double> log_prior) {
    require(log_prior.size() > 0, "log_prior is empty");
    check_size(joint.shape(1), log_prior.size(), "a row of joint", "class");
    std::vector<double> proba(joint.begin(), joint.end());
    without_gil([&] {
        normalise_joint(static_cast<std::int64_t>(joint.shape(0)), log_prior, proba.data());
    });
    return to_numpy(std::move(proba), {joint.shape(0), joint.shape(1)});
}

NumpyMatrix softmax(Matrix<double> scores) {
    check_range(scores.shape(1), 1, std::numeric_limits<std::int32_t>::max(), "columns of scores");
    std::vector<double> proba(scores.begin(), scores.end());
    without_gil([&] {
        normalise_rows(static_cast<std::int64_t>(scores.shape(0)),
                       static_cast<std::int32_t>(scores.shape(1)), proba.data());
    });
    return to_numpy(std::move(proba), {scores.shape(0), scores.shape(1)});
}

}  // namespace

void bind_scores(nb::module_& m) {
    auto product =
        define_class(m, "FactorProduct", &make_product, "log_prior", "column", "n_outcomes",
                     "n_parents", "n_contexts", "n_entries", "n_cells", "rest_towards_parent",
                     "is_dense", "path", "value", "child_start", "entry_start", "entry_class",
                     "n_rows", "rest", "cell_start", "outcome", "score");
    product.def_prop_ro("log_prior",
                        [](const FactorProduct& p) { return read_only(p.log_prior()); });
    const auto define_part = [&]<class T>(const char* name, std::vector<T> ScoreArrays::* part) {
        product.def_prop_ro(name,
                            [part](const FactorProduct& p) { return read_only(p.arrays().*part); });
    };
    define_part("column", &ScoreArrays::column);
    define_part("n_outcomes", &ScoreArrays::n_outcomes);
    define_part("n_parents", &ScoreArrays::n_parents);
    define_part("n_contexts", &ScoreArrays::n_contexts);
    define_part("n_entries", &ScoreArrays::n_entries);
    define_part("n_cells", &ScoreArrays::n_cells);
    define_part("rest_towards_parent", &ScoreArrays::rest_towards_parent);
    define_part("is_dense", &ScoreArrays::is_dense);
    define_part("path", &ScoreArrays::path);
    define_part("value", &ScoreArrays::value);
    define_part("child_start", &ScoreArrays::child_start);
    define_part("entry_start", &ScoreArrays::entry_start);
    define_part("entry_class", &ScoreArrays::entry_class);
    define_part("n_rows", &ScoreArrays::n_rows);
    define_part("rest", &ScoreArrays::rest);
    define_part("cell_start", &ScoreArrays::cell_start);
    define_part("outcome", &ScoreArrays::outcome);
    define_part("score", &ScoreArrays::score);
    define(m, "check_network", &check_network, "product", "arity");
    define(m, "pack_scores", &pack_scores_of, "factor", "min_rows");
    define(m, "join_products", &join_products, "products", "log_prior");
    define(m, "take_factor", &take_factor, "product", "place");
    define(m, "find_support", &find_support, "product", "place", "columns");

    auto cut_network =
        define_class(m, "CutNetwork", &make_cut_network, "network", "points", "n_points");
    define_arrays(cut_network, "points", &CutNetwork::points, "n_points", &CutNetwork::n_points);
    cut_network.def_ro("network", &CutNetwork::network);

    define(m, "average_networks", &average_networks, "networks", "values", "missing_seen",
           "positions", "codes", "n_threads");
    define(m, "predict_joint", &predict_joint, "network", "columns", "normalise", "n_threads");
    define(m, "normalise_joint", &normalise_joint_of, "joint", "log_prior");
    define(m, "softmax", &softmax, "scores");
}

}  // namespace priorwise
