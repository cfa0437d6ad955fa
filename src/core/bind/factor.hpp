// A Python Factor, for the bindings of network kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "bind/held_tree.hpp"
#include "counts/factor.hpp"

namespace priorwise {

// The arrays of a Python Factor, held for as long as a kernel reads them.
struct HeldFactor {
    explicit HeldFactor(nb::handle factor, const Columns& columns)
        : context_value(array<std::int32_t>(factor, "context_value")),
          context_child_start(array<std::int32_t>(factor, "context_child_start")),
          context_node(array<std::int32_t>(factor, "context_node")),
          log_p(array<double>(factor, "log_p")),
          log_rest(array<double>(factor, "log_rest")),
          tree(factor.attr("tree")),
          outcome(array<std::int32_t>(factor.attr("tree"), "outcome")) {
        const auto column = [&](std::int32_t c) {
            require(c >= 0 && static_cast<std::size_t>(c) < columns.size(),
                    [&] { return "no column " + std::to_string(c); });
            return columns[static_cast<std::size_t>(c)].data();
        };
        const auto n_contexts = context_value.shape(0);
        require(context_child_start.shape(0) == n_contexts + 1, "factor: its index does not fit");
        require(log_p.shape(0) == tree.view.counts.size(), "factor: one log_p per cell");
        view.value = priorwise::view(context_value);
        view.child_start = priorwise::view(context_child_start);
        view.node = priorwise::view(context_node);
        view.n_classes = static_cast<std::int32_t>(context_node.shape(0) / n_contexts);
        view.n_outcomes = tree.view.n_outcomes;
        view.dense = nb::cast<bool>(factor.attr("tree").attr("is_dense"));
        view.row_start = tree.view.row_start;
        view.outcome = priorwise::view(outcome);
        view.parent = tree.view.parent;
        view.log_p = priorwise::view(log_p);
        view.log_rest = priorwise::view(log_rest);
        view.rest_towards_parent = nb::cast<bool>(factor.attr("rest_towards_parent"));
        view.column = column(nb::cast<std::int32_t>(factor.attr("column")));
        for (const auto c : nb::cast<std::vector<std::int32_t>>(factor.attr("path")))
            view.path.push_back(column(c));
    }

    template <class T>
    static Vector<T> array(nb::handle object, const char* name) {
        return nb::cast<Vector<T>>(object.attr(name));
    }

    Vector<std::int32_t> context_value, context_child_start, context_node;
    Vector<double> log_p, log_rest;
    HeldTree tree;
    Vector<std::int32_t> outcome;
    Factor view;
};

inline std::int64_t count_rows(const Columns& columns) {
    require(!columns.empty(), "columns is empty");
    for (const auto& column : columns)
        require(column.shape(0) == columns[0].shape(0), "columns differ in length");
    return static_cast<std::int64_t>(columns[0].shape(0));
}

}  // namespace priorwise
