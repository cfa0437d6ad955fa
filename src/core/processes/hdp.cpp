#include "processes/hdp.hpp"

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

void check_whole_counts(std::span<const double> ending) {
    double total = 0.0;
    for (const double n : ending) {
        require(n >= 0.0 && n == std::floor(n), "inference 'gibbs' needs whole counts, got ", n,
                ": use inference='variational'");
        total += n;
    }
    require(total <= kMostRows,
            "counts must have a sum of at most 2**53 for inference 'gibbs', got ", total,
            ": use inference='variational'");
}

}  // namespace priorwise
