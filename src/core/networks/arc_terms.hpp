// Change of the log joint of every row by one arc between features.
#pragma once

#include <cstdint>
#include <vector>

#include "networks/superparent.hpp"

namespace priorwise {

// Laplace estimates p(x | context) = (n + 1) / (N + arity), with a row optionally taken out of the
// counts of its own class. A context without other rows is uniform, as the formula says. A missing
// value (-1) is left out: of its feature, and of the arcs from and to it.
class ArcTerms {
  public:
    explicit ArcTerms(const SuperParentSearch& search);

    std::int64_t n_rows() const { return search_.n_rows; }
    std::int32_t n_classes() const { return search_.n_classes; }

    // joint[row * classes + y] = log p(y) + sum over features of log p(x | y).
    std::vector<double> naive_joint() const;

    // joint += sign * (log p(x_child | y, x_parent) - log p(x_child | y)).
    void add_arc(std::int32_t parent, std::int32_t child, double sign, double* joint) const;

  private:
    double removed(std::int64_t row) const;

    const SuperParentSearch& search_;
    std::vector<double> class_count_;
    std::vector<std::vector<double>> known_count_;  // per feature and class: rows that have a value
    std::vector<std::vector<double>> value_count_;  // per feature: value x class
};

}  // namespace priorwise
