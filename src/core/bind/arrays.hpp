// What the binding files share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "counts/count_tree.hpp"

namespace priorwise {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using NumpyVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using NumpyMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

template <class T>
std::span<const T> view(const Vector<T>& array) {
    return {array.data(), array.shape(0)};
}

// Hand a vector's memory over to NumPy.
template <class T>
NumpyVector<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NumpyVector<T>(kept->data(), {kept->size()}, owner);
}

inline NumpyMatrix to_numpy(std::vector<double>&& values, std::size_t n_rows) {
    const auto n_columns = n_rows ? values.size() / n_rows : 0;
    auto* kept = new std::vector<double>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return NumpyMatrix(kept->data(), {n_rows, n_columns}, owner);
}

inline void require(bool rule, const std::string& message) {
    if (!rule) throw std::invalid_argument(message);
}

// The arrays of a Python CountTree, held for as long as a kernel reads them.
struct HeldTree {
    explicit HeldTree(nb::handle tree)
        : parent(nb::cast<Vector<std::int32_t>>(tree.attr("parent"))),
          level_start(nb::cast<Vector<std::int64_t>>(tree.attr("level_start"))),
          row_start(nb::cast<Vector<std::int64_t>>(tree.attr("row_start"))),
          parent_cell(nb::cast<Vector<std::int32_t>>(tree.attr("parent_cell"))),
          counts(nb::cast<Vector<double>>(tree.attr("counts"))),
          view{nb::cast<std::int32_t>(tree.attr("n_outcomes")),
               priorwise::view(parent),
               priorwise::view(level_start),
               priorwise::view(row_start),
               priorwise::view(parent_cell),
               priorwise::view(counts)} {
        require(view.row_start.size() == view.parent.size() + 1 &&
                    view.parent_cell.size() == view.counts.size() &&
                    view.row_start.back() == static_cast<std::int64_t>(view.counts.size()),
                "tree: its arrays do not fit together");
    }
    Vector<std::int32_t> parent;
    Vector<std::int64_t> level_start, row_start;
    Vector<std::int32_t> parent_cell;
    Vector<double> counts;
    TreeView view;
};

using Columns = std::vector<Vector<std::int32_t>>;
// Kernels of the data layer and of the pair counts.
void bind_data(nb::module_& m);
// Kernels of Bayesian networks.
void bind_networks(nb::module_& m);
// The search for superparents.
void bind_superparent(nb::module_& m);
// Kernels of weighted networks.
void bind_weights(nb::module_& m);
// Counts of few contexts.
void bind_tally(nb::module_& m);
// Growth of trees, and rows down them.
void bind_splits(nb::module_& m);
// Forests in flat arrays.
void bind_forest(nb::module_& m);
// Boosting of scores.
void bind_boost(nb::module_& m);

}  // namespace priorwise
