// Log-losses of tables of scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace priorwise {

// Tables of rows of scores, whose softmax are the probabilities of classes.
struct ScoreTables {
    std::size_t n_tables, n_rows, n_classes;
    const double* score;  // tables x rows x classes
};

// The sum over the rows of each table of weight * -log p(y).
std::vector<double> sum_log_losses(const ScoreTables& tables, std::span<const std::int32_t> y,
                                   std::span<const double> weight);

}  // namespace priorwise
