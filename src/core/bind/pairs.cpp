// Bindings of the kernels of src/core/pairs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "pairs/pair_counts.hpp"
#include "pairs/popcount.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

// Coded rows as Python passes them.
struct HeldRows {
    Matrix<std::int32_t> codes;
    Vector<std::int32_t> arities;
    Vector<std::int32_t> classes;
    std::int32_t n_classes;
    std::optional<Vector<std::int64_t>> whole;
    std::optional<Vector<double>> real;

    CodedTable table(int n_threads) const {
        const auto n_rows = codes.shape(1);
        require(codes.shape(0) > 0, "codes needs at least one feature");
        require(arities.shape(0) == codes.shape(0), "arities needs one entry per feature");
        require(classes.shape(0) == n_rows, "classes needs one entry per row");
        require((!whole || whole->shape(0) == n_rows) && (!real || real->shape(0) == n_rows),
                "weights need one entry per row");
        return make_table(codes.data(), classes.data(), static_cast<std::int64_t>(codes.shape(0)),
                          static_cast<std::int64_t>(n_rows), n_classes, view(arities), n_threads);
    }

    RowWeights weights() const {
        return {whole ? whole->data() : nullptr, real ? real->data() : nullptr};
    }
};

auto to_arrays(Information&& info, std::size_t n_features) {
    return std::tuple(to_numpy(std::move(info.mutual)),
                      to_numpy(std::move(info.conditional), n_features),
                      to_numpy(std::move(info.n_seen)));
}

Counting counting_way(const std::string& name) {
    if (name == "fastest") return Counting::fastest;
    if (name == "bits") return Counting::bits;
    if (name == "dense") return Counting::dense;
    require(name == "grouped",
            [&] { return "counting must be a known way to count, got " + name; });
    return Counting::grouped;
}

auto measure_information_of(Matrix<std::int32_t> codes, Vector<std::int32_t> arities,
                            Vector<std::int32_t> classes, std::int32_t n_classes,
                            std::optional<Vector<std::int64_t>> whole,
                            std::optional<Vector<double>> real, const std::string& counting,
                            int n_threads) {
    const HeldRows held{codes, arities, classes, n_classes, whole, real};
    const Counting way = counting_way(counting);
    Information info;
    {
        nb::gil_scoped_release release;
        info = measure_information(held.table(n_threads), held.weights(), way, n_threads);
    }
    return to_arrays(std::move(info), codes.shape(0));
}

template <class Count>
void add_pair_counts_of(Matrix<std::int32_t> codes, Vector<std::int32_t> arities,
                        Vector<std::int32_t> classes, std::int32_t n_classes,
                        std::optional<Vector<std::int64_t>> whole,
                        std::optional<Vector<double>> real, Output<Count> margins,
                        Output<Count> cells, int n_threads) {
    const HeldRows held{codes, arities, classes, n_classes, whole, real};
    nb::gil_scoped_release release;
    const CodedTable table = held.table(n_threads);
    std::int64_t n_margins = 0;
    for (std::size_t i = 0; i < table.arities.size(); ++i) {
        require(table.arities[i] == arities.data()[i], [&] {
            return "codes of feature " + std::to_string(i) +
                   " must not be -1 where counts are kept";
        });
        n_margins += static_cast<std::int64_t>(table.arities[i]) * n_classes;
    }
    require(static_cast<std::int64_t>(margins.shape(0)) == n_margins &&
                static_cast<std::int64_t>(cells.shape(0)) ==
                    pair_offsets(table.arities, n_classes).back(),
            "margins and cells must have one entry per cell");
    add_pair_counts<Count>(table, held.weights(), {margins.data(), cells.data()}, n_threads);
}

template <class Count>
auto information_of_counts_of(Vector<Count> margins, Vector<Count> cells,
                              Vector<std::int32_t> arities, std::int32_t n_classes,
                              std::int64_t n_terms, int n_threads) {
    require(arities.shape(0) > 0, "arities needs at least one feature");
    std::int64_t n_margins = 0;
    for (const auto arity : view(arities))
        n_margins += static_cast<std::int64_t>(arity) * n_classes;
    require(static_cast<std::int64_t>(margins.shape(0)) == n_margins &&
                static_cast<std::int64_t>(cells.shape(0)) ==
                    pair_offsets(view(arities), n_classes).back(),
            "margins and cells must have one entry per cell");
    Information info;
    {
        nb::gil_scoped_release release;
        info = information_of_counts<Count>({margins.data(), cells.data()}, view(arities),
                                            n_classes, n_terms, n_threads);
    }
    return to_arrays(std::move(info), arities.shape(0));
}

// One call of a named popcount kernel on four planes a side; None if this processor cannot run it.
std::optional<NumpyVector<std::uint64_t>> shared_bits_of(const std::string& kernel,
                                                         Matrix<std::uint64_t> left,
                                                         Matrix<std::uint64_t> right) {
    const SharedBits multiply = find_shared_bits(kernel.c_str());
    if (multiply == nullptr) return std::nullopt;
    const std::size_t n_words = left.shape(1);
    require(left.shape(0) == kQuad && right.shape(0) == kQuad && right.shape(1) == n_words &&
                n_words % kWordStep == 0,
            "left and right need four planes of the same whole steps of words");
    const std::uint64_t *a[kQuad], *b[kQuad];
    for (std::size_t p = 0; p < kQuad; ++p) {
        a[p] = left.data() + p * n_words;
        b[p] = right.data() + p * n_words;
    }
    std::vector<std::uint64_t> shared(kQuad * kQuad, 0);
    multiply(a, b, n_words, shared.data());
    return to_numpy(std::move(shared));
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("measure_information", &measure_information_of, "codes"_a, "arities"_a, "classes"_a,
          "n_classes"_a, "whole"_a.none(), "real"_a.none(), "counting"_a, "n_threads"_a);
    m.def("add_pair_counts", &add_pair_counts_of<std::int64_t>, "codes"_a, "arities"_a, "classes"_a,
          "n_classes"_a, "whole"_a.none(), "real"_a.none(), "margins"_a, "cells"_a, "n_threads"_a);
    m.def("add_pair_counts", &add_pair_counts_of<double>, "codes"_a, "arities"_a, "classes"_a,
          "n_classes"_a, "whole"_a.none(), "real"_a.none(), "margins"_a, "cells"_a, "n_threads"_a);
    m.def("information_of_counts", &information_of_counts_of<std::int64_t>, "margins"_a, "cells"_a,
          "arities"_a, "n_classes"_a, "n_terms"_a, "n_threads"_a);
    m.def("information_of_counts", &information_of_counts_of<double>, "margins"_a, "cells"_a,
          "arities"_a, "n_classes"_a, "n_terms"_a, "n_threads"_a);
    m.def("shared_bits", &shared_bits_of, "kernel"_a, "left"_a, "right"_a);
}

}  // namespace priorwise
