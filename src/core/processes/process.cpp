#include "processes/process.hpp"

#include <cmath>

#include "common/require.hpp"

namespace priorwise {
namespace {

void check_between(const char* name, double value, double least, double most) {
    require(value >= least && value <= most, name, " must be a number from ", least, " to ", most,
            ", got ", value);
}

}  // namespace

void check_model(const ProcessModel& model, const ProcessState& state) {
    check_between("prior_shape", model.shape, kLeastPrior, kMostPrior);
    check_between("prior_rate", model.rate, kLeastPrior, kMostPrior);
    check_between("root_concentration", model.root_concentration, kLeastPrior, kMostPrior);
    for (const double c : state.concentration)
        check_between("concentration", c, 0.0, kMostConcentration);
    for (const double a : state.discount) check_between("discount", a, 0.0, kMostDiscount);
}

void check_whole_counts(const TreeView& tree) {
    double total = 0.0;
    for (const double n : count_ending_rows(tree)) {
        require(n >= 0.0 && n == std::floor(n), "inference 'gibbs' needs whole counts, got ", n,
                ": use inference='variational'");
        total += n;
    }
    require(total <= kMostRows,
            "counts must have a sum of at most 2**53 for inference 'gibbs', got ", total,
            ": use inference='variational'");
}

}  // namespace priorwise
