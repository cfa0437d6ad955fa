// Bindings of what weighted networks are made of: estimates by level, kept contexts, packed scores.
#include "bind/shared/define.hpp"
#include "bind/shared/factors.hpp"
#include "common/interrupt.hpp"
#include "scores/factor_product.hpp"
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

// Rows of the contexts that the first rows meet at each level: the root, then one level per parent.
// A path that ends early repeats its last context. The shape is (rows, levels).
std::vector<float> find_context_rows(const OwnedFactor& owned, const Factor& factor,
                                     std::size_t n_rows, std::size_t n_levels) {
    const auto context_rows = count_context_rows(owned);
    std::vector<float> out(n_rows * n_levels);
    for (std::size_t row = 0; row < n_rows; ++row) {
        poll_every<1 << 12>(row);
        std::int32_t context = 0;
        for (std::size_t level = 0; level < n_levels; ++level) {
            if (level > 0 && level <= factor.path.size()) {
                const auto next = factor.step(context, factor.path[level - 1][row]);
                if (next >= 0) context = next;
            }
            out[row * n_levels + level] = static_cast<float>(context_rows[context]);
        }
    }
    return out;
}

// Of one feature: the shrinkage of each level, the log estimates of rows without their block (rows,
// classes, levels), and the rows of the contexts that the first `n_judged` rows meet.
auto cross_fit_factor(std::shared_ptr<const CountTree> tree, std::int32_t column,
                      std::vector<std::int32_t> path, std::int32_t n_classes,
                      const Columns& columns, Vector<std::int32_t> y,
                      std::optional<Vector<double>> row_weight, Vector<std::int32_t> block,
                      std::int32_t n_blocks, std::int32_t n_levels, std::int64_t n_judged,
                      std::optional<Vector<double>> class_row_weight) {
    const auto n_rows = check_columns(columns);
    const auto n = static_cast<std::size_t>(n_rows);
    const auto factor =
        index_factor(column, std::move(path), std::move(tree), {}, {}, true, n_classes, true);
    check_factor(factor, columns.spans(), n_classes);
    check_size(y.size(), n, "y", "row");
    check_codes(y, n_classes, "y");
    check_weights(row_weight, n, "row_weight");
    check_size(block.size(), n, "block", "row");
    check_range(n_blocks, 0, std::max<std::int64_t>(n_rows, 1), "n_blocks");
    check_codes(block, n_blocks, "block", -1, -1);
    check_range(n_levels, 1, 1 << 10, "n_levels");
    check_range(n_judged, 0, n_rows, "n_judged");
    check_weights(class_row_weight, static_cast<std::size_t>(n_classes), "class_row_weight");
    require_memory(4.0 * (n_classes + 1.0) * n_levels * static_cast<double>(n),
                   n * (columns.size() + 1), "n_classes", n_classes);
    const auto width = static_cast<std::size_t>(n_levels);
    std::vector<float> scores(n * static_cast<std::size_t>(n_classes) * width, 0.0F);
    std::vector<float> context_rows;
    std::vector<double> shrinkage;
    without_gil([&] {
        const auto counts = factor.tree->view();
        const auto one = factor.over(columns.spans());
        if (class_row_weight)
            shrinkage =
                level_weights(counts, spread_row_weights(*factor.tree, view(*class_row_weight)));
        else
            shrinkage = level_weights(counts);
        const auto weight = spread_levels(*factor.tree, shrinkage);
        const CrossFit fit{one,          counts,   weight,   y.data(), data_or_null(row_weight),
                           block.data(), n_blocks, n_levels, n_rows};
        cross_fit_levels(fit, scores.data());
        context_rows = find_context_rows(factor, one, static_cast<std::size_t>(n_judged), width);
    });
    return std::tuple(
        to_numpy(std::move(shrinkage)),
        to_numpy(std::move(scores), {n, static_cast<std::size_t>(n_classes), width}),
        to_numpy(std::move(context_rows), {static_cast<std::size_t>(n_judged), width}));
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
        for (std::size_t at = 0; at < joint.size(); ++at) joint[at] = log_prior[at % n_classes];
        std::vector<double> down_path(n_levels);
        std::vector<std::size_t> n_kept(min_rows.size());
        for (std::size_t f = 0; f < n_features; ++f)
            for (std::size_t row = 0; row < n_rows; ++row) {
                poll_every<1 << 10>(row);
                const auto* rows_at = context_rows.data() + (f * n_rows + row) * n_levels;
                for (std::size_t m = 0; m < n_kept.size(); ++m) {
                    n_kept[m] = 1;
                    while (n_kept[m] < n_levels && rows_at[n_kept[m]] >= min_rows[m]) ++n_kept[m];
                }
                for (std::size_t y = 0; y < n_classes; ++y) {
                    const auto* estimate =
                        scores.data() + ((f * n_scored + row) * n_classes + y) * n_levels;
                    double sum = 0.0;
                    for (std::size_t level = 0; level < n_levels; ++level) {
                        const double above = level > 0 ? estimate[level - 1] : 0.0F;
                        sum +=
                            level_weight.data()[f * n_levels + level] * (estimate[level] - above);
                        down_path[level] = sum;
                    }
                    for (std::size_t m = 0; m < n_kept.size(); ++m)
                        joint[(m * n_rows + row) * n_classes + y] += down_path[n_kept[m] - 1];
                }
            }
    });
    return to_numpy(std::move(joint), {min_rows.size(), n_rows, n_classes});
}

// A product of one factor, with a prior of zeros: counts shrunk by level towards the parents' rows,
// and scores with a weight on what each level adds.
FactorProduct pack_weighted_factor(std::shared_ptr<const CountTree> tree, std::int32_t column,
                                   std::vector<std::int32_t> path, std::int32_t n_classes,
                                   Vector<double> shrinkage, Vector<double> level_weight,
                                   double min_rows) {
    const auto n_levels = static_cast<std::int64_t>(tree->level_start.size()) - 1;
    check_size(shrinkage.size(), static_cast<std::size_t>(n_levels), "shrinkage",
               "level of the tree");
    check_finite(view(shrinkage), "shrinkage");
    require(std::ranges::all_of(view(shrinkage), [](double w) { return w >= 0.0; }),
            "shrinkage must not be negative");
    check_at_least(level_weight.size(), std::max<std::int64_t>(1, n_levels - 1),
                   "levels of level_weight");
    check_finite(view(level_weight), "level_weight");
    auto factor = index_factor(column, std::move(path), tree, {}, {}, true, n_classes, true);
    nb::gil_scoped_release release;
    const auto counts = tree->view();
    std::vector<double> p(tree->counts.size());
    shrink(counts, spread_levels(*tree, shrinkage), Base::kParent, true, p);
    if (!tree->is_dense()) {
        factor.log_rest = log_rest_factors(counts, p, true);
        std::vector<double> by_level(static_cast<std::size_t>(n_levels));
        for (std::size_t level = 0; level < by_level.size(); ++level)
            by_level[level] = level_weight[level > 0 ? level - 1 : 0];
        const auto by_node = spread_levels(*tree, by_level);
        for (std::size_t node = 0; node < by_node.size(); ++node)
            factor.log_rest[node] *= by_node[node];
    }
    std::ranges::transform(p, p.begin(), [](double q) { return std::log(q); });
    factor.log_p = weigh_levels(counts, p, level_weight);
    return {pack_scores(factor, min_rows),
            std::vector<double>(static_cast<std::size_t>(n_classes), 0.0)};
}

}  // namespace

void bind_weighting(nb::module_& m) {
    define(m, "cross_fit_factor", &cross_fit_factor, "tree", "column", "path", "n_classes",
           "columns", "y", "row_weight", "block", "n_blocks", "n_levels", "n_judged",
           "class_row_weight");
    define(m, "score_kept_contexts", &score_kept_contexts, "scores", "level_weight", "context_rows",
           "min_rows", "log_prior");
    define(m, "pack_weighted_factor", &pack_weighted_factor, "tree", "column", "path", "n_classes",
           "shrinkage", "level_weight", "min_rows");
}

}  // namespace priorwise
