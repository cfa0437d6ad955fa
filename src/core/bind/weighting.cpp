// Bindings of what weighted networks are made of: estimates by level, kept contexts, packed scores.
#include <limits>
#include <mutex>
#include <numeric>

#include "bind/shared/counting.hpp"
#include "bind/shared/define.hpp"
#include "bind/shared/factors.hpp"
#include "common/interrupt.hpp"
#include "scores/factor_product.hpp"
#include "scores/log_losses.hpp"
#include "smoothing/smoothers.hpp"

namespace priorwise {
namespace {

// The number of its level for each node.
std::vector<double> spread_levels(const CountTree& tree, std::span<const double> by_level) {
    std::vector<double> by_node(tree.parent.size());
    for (std::size_t level = 0; level + 1 < tree.level_start.size(); ++level)
        std::fill(by_node.begin() + tree.level_start[level],
                  by_node.begin() + tree.level_start[level + 1], by_level[level]);
    return by_node;
}

// The count trees of the features of a network, one at a time: given, or counted from rows when
// they are asked for.
struct FactorTrees {
    std::int32_t n_classes;
    std::vector<std::int32_t> features;              // per factor
    std::vector<std::vector<std::int32_t>> parents;  // per factor: places of its parents' factors
    // The columns of the factors, then the class; none if the trees are given.
    Columns columns{};
    std::vector<std::int32_t> arity{};
    std::optional<Vector<double>> weight{};
    std::int32_t max_dense_outcomes = 0;
    // Trees are kept while all that were counted have no more contexts than this.
    std::int64_t max_kept = 0;
    std::optional<std::int64_t> max_contexts{};

    struct Kept {
        std::shared_ptr<const CountTree> tree;
        std::shared_ptr<const ContextIndex> index;
        std::int64_t n_contexts = 0;
    };
    struct State {
        std::mutex mutex;
        std::vector<Kept> kept;       // per factor
        std::int64_t n_contexts = 1;  // in all trees; that of the class has one
        std::int64_t n_indexed = 0;   // entries of the indices that are kept
    };
    std::unique_ptr<State> state = std::make_unique<State>();

    // Call use(place, factor) for one factor after the other. Parents are places of factors or, if
    // wanted, features. Contexts with fewer than `min_rows` rows may be left out of trees.
    template <class Use>
    void for_each(double min_rows, bool of_features, Use&& use) const {
        const std::scoped_lock lock(state->mutex);
        std::vector<CodedRows> work;
        if (!columns.empty()) {
            std::vector<std::int32_t> targets(features.size());
            std::iota(targets.begin(), targets.end(), 0);
            const auto class_column = static_cast<std::int32_t>(features.size());
            std::vector<std::vector<std::int32_t>> paths(
                features.size(), std::vector<std::int32_t>(1, class_column));
            for (std::size_t place = 0; place < paths.size(); ++place)
                for (const auto parent : parents[place]) paths[place].push_back(parent);
            const auto missing = find_missing(columns, arity);
            check_weights(weight, columns[0].size(), "weight");
            work = list_work(columns, arity, targets, paths, data_or_null(weight), missing);
        }
        for (std::size_t place = 0; place < features.size(); ++place) {
            auto& kept = state->kept[place];
            auto tree = kept.tree;
            if (!tree) tree = count(work[place], min_rows, kept);
            auto path = parents[place];
            if (of_features)
                for (auto& parent : path) parent = features[parent];
            const auto column = of_features ? features[place] : static_cast<std::int32_t>(place);
            if (kept.index) {
                use(place,
                    OwnedFactor{column, std::move(path), tree, kept.index, true, true, {}, {}});
                continue;
            }
            auto factor =
                index_factor(column, std::move(path), tree, {}, {}, true, n_classes, true);
            const auto n_entries = static_cast<std::int64_t>(factor.index->node.size());
            if (kept.tree && state->n_indexed + n_entries <= max_kept) {
                kept.index = factor.index;
                state->n_indexed += n_entries;
            }
            use(place, std::move(factor));
        }
    }

  private:
    std::shared_ptr<const CountTree> count(const CodedRows& rows, double min_rows,
                                           Kept& kept) const {
        auto tree = std::make_shared<const CountTree>(
            fill_count_tree(rows, rows.n_outcomes <= max_dense_outcomes, min_rows));
        const auto n_contexts = static_cast<std::int64_t>(tree->parent.size());
        state->n_contexts += n_contexts - kept.n_contexts;
        kept.n_contexts = n_contexts;
        require(!max_contexts || state->n_contexts <= *max_contexts,
                "max_contexts must be at least the contexts that occur, got ",
                max_contexts.value_or(0), " for ", state->n_contexts,
                ": allow more, fewer parents, or coarser values");
        // A tree without its small contexts would not do for those who want them.
        if (min_rows == 0.0 && state->n_contexts <= max_kept) kept.tree = tree;
        return tree;
    }
};

// A network whose factors have these features, each after its parents.
FactorTrees make_network(std::int32_t n_classes, std::vector<std::int32_t> features,
                         std::vector<std::vector<std::int32_t>> parents) {
    check_at_least(n_classes, 1, "n_classes");
    check_size(parents.size(), features.size(), "parents", "feature");
    for (const auto feature : features) check_at_least(feature, 0, "features");
    for (const auto& path : parents)
        for (const auto parent : path) check_column(parent, features.size(), "parents");
    FactorTrees trees{n_classes, std::move(features), std::move(parents)};
    trees.state->kept.resize(trees.features.size());
    return trees;
}

FactorTrees make_factor_trees(Columns columns, Vector<std::int32_t> arity,
                              std::optional<Vector<double>> weight, std::int32_t n_classes,
                              std::vector<std::int32_t> features,
                              std::vector<std::vector<std::int32_t>> parents,
                              std::int32_t max_dense_outcomes, std::int64_t max_kept,
                              std::optional<std::int64_t> max_contexts) {
    auto trees = make_network(n_classes, std::move(features), std::move(parents));
    check_size(columns.size(), trees.features.size() + 1, "columns", "feature, and the class");
    trees.columns = std::move(columns);
    trees.arity = copy(arity);
    trees.weight = std::move(weight);
    // Checked again where they are read, because arrays may change in between.
    find_missing(trees.columns, trees.arity);
    check_weights(trees.weight, trees.columns[0].size(), "weight");
    trees.max_dense_outcomes = max_dense_outcomes;
    trees.max_kept = max_kept;
    trees.max_contexts = max_contexts;
    return trees;
}

// The trees of features that have been counted.
FactorTrees hold_trees(const std::vector<std::shared_ptr<const CountTree>>& counted,
                       std::int32_t n_classes, std::vector<std::int32_t> features,
                       std::vector<std::vector<std::int32_t>> parents) {
    auto trees = make_network(n_classes, std::move(features), std::move(parents));
    check_size(counted.size(), trees.features.size(), "counted", "feature");
    for (std::size_t place = 0; place < counted.size(); ++place)
        trees.state->kept[place].tree = counted[place];
    return trees;
}

// Of each factor: the shrinkage of each level, one factor behind the other; the log estimates of
// rows without their block (features, rows, classes, levels); and the rows of the contexts that the
// first `n_judged` rows meet, the root and one per parent (features, rows, levels). The columns are
// those of the factors.
auto cross_fit_network(const FactorTrees& trees, const Columns& columns, Vector<std::int32_t> y,
                       std::optional<Vector<double>> row_weight, Vector<std::int32_t> block,
                       std::int32_t n_blocks, std::int32_t n_levels, std::int64_t n_judged,
                       std::optional<Vector<double>> class_row_weight) {
    const auto n = y.size();
    const auto n_classes = static_cast<std::size_t>(trees.n_classes);
    check_size(columns.size(), trees.features.size(), "columns", "factor");
    const auto n_rows = columns.empty() ? static_cast<std::int64_t>(n) : check_columns(columns);
    check_size(n, static_cast<std::size_t>(n_rows), "y", "row");
    check_codes(y, trees.n_classes, "y");
    check_weights(row_weight, n, "row_weight");
    check_size(block.size(), n, "block", "row");
    check_range(n_blocks, 0, std::max<std::int64_t>(n_rows, 1), "n_blocks");
    check_codes(block, n_blocks, "block", -1, -1);
    check_range(n_levels, 1, 1 << 10, "n_levels");
    check_range(n_judged, 0, n_rows, "n_judged");
    check_weights(class_row_weight, n_classes, "class_row_weight");
    const auto n_features = trees.features.size(), width = static_cast<std::size_t>(n_levels);
    require_memory(4.0 * (trees.n_classes + 1.0) * n_levels * static_cast<double>(n * n_features),
                   n * (n_features + 1), "n_classes", trees.n_classes);
    const auto n_judged_rows = static_cast<std::size_t>(n_judged);
    std::vector<float> scores(n_features * n * n_classes * width);
    std::vector<float> context_rows(n_features * n_judged_rows * width);
    std::vector<double> shrinkage;
    without_gil([&] {
        trees.for_each(0.0, false, [&](std::size_t place, const OwnedFactor& factor) {
            check_factor(factor, columns.spans(), trees.n_classes);
            const auto counts = factor.tree->view();
            const auto one = factor.over(columns.spans());
            const auto by_level =
                class_row_weight ? level_weights(counts, spread_row_weights(
                                                             *factor.tree, view(*class_row_weight)))
                                 : level_weights(counts);
            shrinkage.insert(shrinkage.end(), by_level.begin(), by_level.end());
            const auto weight = spread_levels(*factor.tree, by_level);
            const auto contexts = find_contexts(one, n_rows);
            const CrossFit fit{
                one,          counts,   weight,   contexts, y.data(), data_or_null(row_weight),
                block.data(), n_blocks, n_levels, n_rows};
            cross_fit_levels(fit, scores.data() + place * n * n_classes * width);
            const auto n_rows_of = count_context_rows(factor);
            const auto n_own = one.path.size() + 1;
            auto* out = context_rows.data() + place * n_judged_rows * width;
            for (std::size_t row = 0; row < n_judged_rows; ++row)
                for (std::size_t level = 0; level < width; ++level)
                    *out++ = static_cast<float>(
                        n_rows_of[contexts[row * n_own + std::min(level, n_own - 1)]]);
        });
    });
    return std::tuple(to_numpy(std::move(shrinkage)),
                      to_numpy(std::move(scores), {n_features, n, n_classes, width}),
                      to_numpy(std::move(context_rows), {n_features, n_judged_rows, width}));
}

// The log joint of the first rows of `context_rows` (features, rows, levels), if contexts with
// fewer than min_rows[m] rows are left out: a table (rows, classes) for each m. `scores` are log
// estimates (features, rows, classes, levels), and level_weight[f] what the step to each level is
// worth.
auto score_kept_contexts(Array<const float, 4> scores, Matrix<double> level_weight,
                         Array<const float, 3> context_rows, Vector<double> min_rows,
                         Vector<double> log_prior) {
    const auto n_features = scores.shape(0), n_scored = scores.shape(1);
    const auto n_classes = scores.shape(2), n_levels = scores.shape(3);
    const auto n_rows = context_rows.shape(1);
    check_size(log_prior.size(), n_classes, "log_prior", "class of scores");
    check_size(level_weight.shape(0), n_features, "level_weight", "feature of scores");
    check_size(level_weight.shape(1), n_levels, "a row of level_weight", "level of scores");
    check_size(context_rows.shape(0), n_features, "context_rows", "feature of scores");
    check_size(context_rows.shape(2), n_levels, "a row of context_rows", "level of scores");
    check_at_least(n_scored, static_cast<std::int64_t>(n_rows), "rows of scores");
    check_at_least(n_levels, 1, "levels of scores");
    require_memory(
        8.0 * static_cast<double>(min_rows.size() * n_rows) * static_cast<double>(n_classes),
        scores.size() + context_rows.size() + log_prior.size(), "values of min_rows",
        min_rows.size());
    std::vector<double> joint(min_rows.size() * n_rows * n_classes);
    without_gil([&] {
        std::vector<double> down_path(n_levels), of_row(n_classes * min_rows.size());
        std::vector<std::int64_t> n_kept(min_rows.size());
        for (std::size_t row = 0; row < n_rows; ++row) {
            for (std::size_t y = 0; y < n_classes; ++y)
                std::fill_n(of_row.begin() + y * n_kept.size(), n_kept.size(), log_prior[y]);
            for (std::size_t f = 0; f < n_features; ++f) {
                poll_every<1 << 10>(f);
                const auto* rows_at = context_rows.data() + (f * n_rows + row) * n_levels;
                std::ranges::fill(n_kept, 1);
                float least = std::numeric_limits<float>::max();
                for (std::size_t level = 1; level < n_levels; ++level) {
                    least = std::min(least, rows_at[level]);
                    for (std::size_t m = 0; m < n_kept.size(); ++m)
                        n_kept[m] += least >= min_rows[m];
                }
                const auto* weight = level_weight.data() + f * n_levels;
                const auto* estimate = scores.data() + (f * n_scored + row) * n_classes * n_levels;
                auto* sums = of_row.data();
                for (std::size_t y = 0; y < n_classes; ++y, estimate += n_levels) {
                    double sum = 0.0;
                    for (std::size_t level = 0; level < n_levels; ++level) {
                        const double above = level > 0 ? estimate[level - 1] : 0.0F;
                        sum += weight[level] * (estimate[level] - above);
                        down_path[level] = sum;
                    }
                    for (const auto n : n_kept) *sums++ += down_path[n - 1];
                }
            }
            for (std::size_t m = 0; m < n_kept.size(); ++m)
                for (std::size_t y = 0; y < n_classes; ++y)
                    joint[(m * n_rows + row) * n_classes + y] = of_row[y * n_kept.size() + m];
        }
    });
    return to_numpy(std::move(joint), {min_rows.size(), n_rows, n_classes});
}

// The sum of the log-losses of each table of log joint probabilities (tables, rows, classes).
NumpyVector<double> sum_log_losses_of(Array<const double, 3> joint, Vector<std::int32_t> y,
                                      Vector<double> weight) {
    check_size(y.size(), joint.shape(1), "y", "row of joint");
    check_size(weight.size(), joint.shape(1), "weight", "row of joint");
    check_at_least(joint.shape(2), 1, "classes of joint");
    return to_numpy(without_gil([&] {
        check_codes(y, static_cast<std::int64_t>(joint.shape(2)), "y");
        check_weights(view(weight), y.size(), "weight");
        return sum_log_losses({joint.shape(0), joint.shape(1), joint.shape(2), joint.data()}, y,
                              weight);
    }));
}

// Counts shrunk by level towards the parents' rows, and scores with a weight on what each level
// adds: the factor without contexts of fewer than `min_rows` rows.
ScoreArrays pack_weighted(OwnedFactor& factor, std::span<const double> shrinkage,
                          std::span<const double> level_weight, double min_rows) {
    const auto& tree = *factor.tree;
    const auto counts = tree.view();
    std::vector<double> p(tree.counts.size());
    shrink(counts, spread_levels(tree, shrinkage), Base::kParent, true, p);
    if (!tree.is_dense()) {
        factor.log_rest = log_rest_factors(counts, p, true);
        std::vector<double> by_level(shrinkage.size());
        for (std::size_t level = 0; level < by_level.size(); ++level)
            by_level[level] = level_weight[level > 0 ? level - 1 : 0];
        const auto by_node = spread_levels(tree, by_level);
        for (std::size_t node = 0; node < by_node.size(); ++node)
            factor.log_rest[node] *= by_node[node];
    }
    std::ranges::transform(p, p.begin(), [](double q) { return std::log(q); });
    factor.log_p = weigh_levels(counts, p, level_weight);
    return pack_scores(factor, min_rows);
}

// A network with the weights of levels in its factors. `shrinkage` is of the levels of each factor,
// one factor behind the other.
FactorProduct pack_weighted_network(const FactorTrees& trees, Vector<double> shrinkage,
                                    Matrix<double> level_weight, double min_rows,
                                    Vector<double> log_prior) {
    check_size(log_prior.size(), static_cast<std::size_t>(trees.n_classes), "log_prior", "class");
    check_size(level_weight.shape(0), trees.features.size(), "level_weight", "feature");
    check_finite(view(shrinkage), "shrinkage");
    require(std::ranges::all_of(view(shrinkage), [](double w) { return w >= 0.0; }),
            "shrinkage must not be negative");
    const auto width = level_weight.shape(1);
    check_finite(std::span(level_weight.data(), level_weight.size()), "level_weight");
    const GilRelease release;
    ScoreArrays arrays;
    std::size_t n_used = 0;
    trees.for_each(min_rows, true, [&](std::size_t place, OwnedFactor factor) {
        const auto n_levels = factor.tree->level_start.size() - 1;
        check_at_least(width, static_cast<std::int64_t>(std::max<std::size_t>(2, n_levels)) - 1,
                       "levels of level_weight");
        check_at_least(shrinkage.size(), static_cast<std::int64_t>(n_used + n_levels),
                       "levels of shrinkage");
        const auto packed = pack_weighted(factor, view(shrinkage).subspan(n_used, n_levels),
                                          {level_weight.data() + place * width, width}, min_rows);
        arrays.append(ScoreIndex(packed).tree(packed, 0));
        n_used += n_levels;
    });
    check_size(shrinkage.size(), n_used, "shrinkage", "level of the trees");
    return {std::move(arrays), copy(log_prior)};
}

}  // namespace

void bind_weighting(nb::module_& m) {
    nb::class_<FactorTrees> trees(m, "FactorTrees");
    define_init(trees, "FactorTrees", &make_factor_trees, "columns", "arity", "weight", "n_classes",
                "features", "parents", "max_dense_outcomes", "max_kept", "max_contexts");
    define(m, "hold_trees", &hold_trees, "counted", "n_classes", "features", "parents");
    define(m, "cross_fit_network", &cross_fit_network, "trees", "columns", "y", "row_weight",
           "block", "n_blocks", "n_levels", "n_judged", "class_row_weight");
    define(m, "score_kept_contexts", &score_kept_contexts, "scores", "level_weight", "context_rows",
           "min_rows", "log_prior");
    define(m, "sum_log_losses", &sum_log_losses_of, "joint", "y", "weight");
    define(m, "pack_weighted_network", &pack_weighted_network, "trees", "shrinkage", "level_weight",
           "min_rows", "log_prior");
}

}  // namespace priorwise
