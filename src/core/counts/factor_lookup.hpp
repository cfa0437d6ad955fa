// A factor's index laid out for many rows: each step down its contexts, and each search for an
// outcome, looks at one place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "counts/factor.hpp"

namespace priorwise {

class FactorLookup {
  public:
    // Returns nothing if the codes are too scattered for a small table.
    static std::optional<FactorLookup> build(const Factor& factor);

    // Number of contexts, and of cells of a sparse factor. Building the table is worth it for more
    // rows than that.
    static std::int64_t size(const Factor& factor);

    // joint[row * classes + y] += log p(x | y, parents) for the rows first .. last, to the same
    // bits as `add_to_joint`.
    void add_to(const Factor& factor, std::int64_t first, std::int64_t last, double* joint) const;

    // A row on its way down the contexts: where it is, and the shift of the steps from there.
    struct Place {
        std::int32_t context, shift;
    };
    Place root() const { return {0, root_shift_}; }
    void step(Place& place, std::int32_t code) const;
    // What `add_to` adds for a row that has reached a context.
    void add_row(const Factor& factor, std::int64_t row, std::int32_t context, double* joint) const;

  private:
    struct Step {
        std::int32_t context = -1;  // that may take this step
        std::int32_t child = -1;
        std::int32_t shift = 1;  // of the child's own steps
    };
    struct Cell {
        std::int32_t node = -1;
        double log_p = 0.0;
    };
    // Of a sparse factor: where the cells of a node are, and which node has the outcomes that it
    // does not list. The last one is the uniform distribution, which lists all codes and -1.
    struct Node {
        double log_rest;
        std::int32_t shift;
        std::int32_t base;
    };

    void find_contexts(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                       std::int32_t* context) const;
    void add_dense(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                   const std::int32_t* context, double* joint) const;
    void add_sparse(const Factor& factor, std::int64_t first, std::int64_t n_rows,
                    const std::int32_t* context, double* joint) const;

    std::vector<Step> steps_;
    std::int32_t root_shift_ = 1;
    std::int32_t n_parent_codes_ = 0;
    std::vector<Cell> cells_;
    std::vector<Node> nodes_;
    std::int32_t n_listed_codes_ = 0;
    double log_uniform_ = 0.0;
};

}  // namespace priorwise
