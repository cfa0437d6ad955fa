#include "smoothing/hdp.hpp"

#include <cmath>

#include "common/require.hpp"

namespace priorwise {
namespace {

void check_between(const char* name, double value, double least, double most) {
    require(value >= least && value <= most, name, " must be a number from ", least, " to ", most,
            ", got ", value);
}

}  // namespace

void check_model(const HdpModel& model, std::span<const double> concentration) {
    check_between("prior_shape", model.shape, kLeastPrior, kMostPrior);
    check_between("prior_rate", model.rate, kLeastPrior, kMostPrior);
    check_between("root_concentration", model.root_concentration, kLeastPrior, kMostPrior);
    for (const double c : concentration) check_between("concentration", c, 0.0, kMostConcentration);
}

void check_whole_counts(const TreeView& tree) {
    const auto leaf = find_leaves(tree);
    double total = 0.0;
    for (std::int32_t node = 0; node < tree.n_nodes(); ++node) {
        if (!leaf[node]) continue;
        for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
            const double n = tree.counts[cell];
            require(n >= 0.0 && n == std::floor(n), "inference 'gibbs' needs whole counts, got ", n,
                    ": use inference='variational'");
            total += n;
        }
    }
    require(total <= kMostRows,
            "counts must have a sum of at most 2**53 for inference 'gibbs', got ", total,
            ": use inference='variational'");
}

}  // namespace priorwise
