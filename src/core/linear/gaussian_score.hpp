// Log densities of Gaussians, feature by feature.
#pragma once

#include <cstdint>
#include <span>

namespace priorwise {

// Of a row x and the Gaussian g that `place` has for it and a class, the quadratic part
//
//     -1/2 (x - mean_g)' precision_g (x - mean_g)
//
// as a sum over the features i of -1/2 (x - mean_g)_i (precision_g (x - mean_g))_i. A row is
// summed up alone and in a fixed order, so its score has the same bits whatever rows are beside it.
struct GaussianScore {
    std::int32_t n_values, n_classes;
    std::span<const double> mean;       // Gaussians x values
    std::span<const double> precision;  // Gaussians x values x values

    // score[row][y], and the terms of the features, terms[row][value][y], unless they are null, for
    // rows first .. last; `values` is rows x values, `place` rows x classes.
    void add_up(const double* values, const std::int32_t* place, std::int64_t first,
                std::int64_t last, double* score, double* terms) const;
};

}  // namespace priorwise
