// The arrays of a Python CountTree.
#pragma once

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "counts/count_tree.hpp"

namespace priorwise {

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

}  // namespace priorwise
