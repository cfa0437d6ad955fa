// Binding of the search for superparents.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "networks/superparent.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

SearchScore score_of_name(const std::string& name) {
    if (name == "cll") return SearchScore::kLikelihood;
    if (name == "accuracy") return SearchScore::kAccuracy;
    if (name == "auc") return SearchScore::kAuc;
    throw std::invalid_argument("score must be 'cll', 'accuracy' or 'auc', got " + name);
}

void check_codes(const Vector<std::int32_t>& codes, std::int32_t arity, std::size_t n_rows) {
    require(codes.shape(0) == n_rows, "columns and y differ in length");
    const auto inside = [&](std::int32_t code) { return code >= 0 && code < arity; };
    require(std::all_of(codes.data(), codes.data() + n_rows, inside), "a code exceeds its arity");
}

auto find_superparents_of(const Columns& columns, Vector<std::int32_t> arities,
                          Vector<std::int32_t> y, std::int32_t n_classes,
                          std::optional<Vector<double>> weight, const std::string& score,
                          bool leave_one_out, int n_threads) {
    const auto n_rows = y.shape(0);
    require(arities.shape(0) == columns.size(), "arities needs one entry per column");
    require(!weight || weight->shape(0) == n_rows, "weight and y differ in length");
    SuperParentSearch search{{},
                             view(arities),
                             y.data(),
                             weight ? weight->data() : nullptr,
                             static_cast<std::int64_t>(n_rows),
                             n_classes,
                             score_of_name(score),
                             leave_one_out};
    check_codes(y, n_classes, n_rows);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        check_codes(columns[i], arities.data()[i], n_rows);
        search.columns.push_back(columns[i].data());
    }
    SuperParentArcs found;
    {
        nb::gil_scoped_release release;
        found = find_superparents(search, n_threads);
    }
    return std::tuple(to_numpy(std::move(found.parent)), to_numpy(std::move(found.scores)));
}

}  // namespace

void bind_superparent(nb::module_& m) {
    m.def("find_superparents", &find_superparents_of, "columns"_a, "arities"_a, "y"_a,
          "n_classes"_a, "weight"_a.none(), "score"_a, "leave_one_out"_a, "n_threads"_a);
}

}  // namespace priorwise
