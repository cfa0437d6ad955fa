// Bindings of the data layer and of the pair counts.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bind/arrays.hpp"
#include "common/parallel.hpp"
#include "cuts/cuts.hpp"
#include "pairs/pair_counts.hpp"
#include "pairs/popcount.hpp"

namespace priorwise {
namespace {

using namespace nb::literals;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Output = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

auto rank_values_of(Matrix<double> values,
                    nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig> ranks, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(values.shape(0));
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    require(ranks.shape(0) == values.shape(0) && ranks.shape(1) == values.shape(1),
            "ranks must have the shape of values");
    std::vector<std::vector<double>> distinct(static_cast<std::size_t>(n_features));
    {
        nb::gil_scoped_release release;
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            distinct[static_cast<std::size_t>(i)] =
                rank_values(values.data() + i * n_rows, n_rows, ranks.data() + i * n_rows);
        });
    }
    std::vector<NumpyVector<double>> arrays;
    for (auto& one : distinct) arrays.push_back(to_numpy(std::move(one)));
    return arrays;
}

void cut_values_of(Matrix<double> values, const std::vector<Vector<double>>& cut_points,
                   Vector<std::int32_t> missing_codes, Vector<std::int64_t> positions,
                   nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig> codes, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(values.shape(0));
    const auto n_rows = static_cast<std::int64_t>(values.shape(1));
    require(cut_points.size() == values.shape(0) && missing_codes.shape(0) == values.shape(0) &&
                positions.shape(0) == values.shape(0),
            "cut_points, missing_codes and positions need one entry per feature");
    require(codes.shape(1) == values.shape(1), "codes and values differ in rows");
    for (const auto position : view(positions)) {
        require(position >= 0 && position < static_cast<std::int64_t>(codes.shape(0)),
                "positions must be rows of codes");
    }
    nb::gil_scoped_release release;
    constexpr std::int64_t kBlock = 1 << 14;
    const std::int64_t n_blocks = (n_rows + kBlock - 1) / kBlock;
    parallel_for(n_features * n_blocks, n_threads, [&](std::int64_t task) {
        const std::int64_t i = task / n_blocks, begin = task % n_blocks * kBlock;
        const auto& cuts = cut_points[static_cast<std::size_t>(i)];
        cut_values(values.data() + i * n_rows + begin, std::min(kBlock, n_rows - begin),
                   cuts.data(), static_cast<std::int64_t>(cuts.shape(0)), missing_codes.data()[i],
                   codes.data() + positions.data()[i] * n_rows + begin);
    });
}

CutRule cut_rule(const std::string& name) {
    if (name == "mdl") return CutRule::mdl;
    if (name == "random_mdl") return CutRule::random_mdl;
    if (name == "tree") return CutRule::tree;
    require(name == "pruned_tree", "rule must be a known cut rule, got " + name);
    return CutRule::pruned_tree;
}

auto entropy_cuts_of(Matrix<std::int32_t> ranks, Vector<std::int32_t> n_distinct,
                     Vector<std::int32_t> classes, std::int32_t n_classes,
                     std::optional<Vector<double>> weights, const std::string& rule, int max_depth,
                     Vector<std::uint64_t> seeds, int n_threads) {
    const auto n_features = static_cast<std::int64_t>(ranks.shape(0));
    const auto n_rows = static_cast<std::int64_t>(ranks.shape(1));
    require(n_distinct.shape(0) == ranks.shape(0) && seeds.shape(0) == ranks.shape(0),
            "n_distinct and seeds need one entry per feature");
    require(classes.shape(0) == ranks.shape(1) && (!weights || weights->shape(0) == ranks.shape(1)),
            "classes and weights need one entry per row");
    const CutRule kind = cut_rule(rule);
    std::vector<std::vector<std::int32_t>> cuts(static_cast<std::size_t>(n_features));
    {
        nb::gil_scoped_release release;
        double total = weights ? 0.0 : static_cast<double>(n_rows);
        if (weights) {
            for (const double weight : view(*weights)) total += weight;
        }
        for (const auto k : view(classes)) require(k >= 0 && k < n_classes, "no such class");
        const FixedLog log(total, n_rows);
        parallel_for(n_features, n_threads, [&](std::int64_t i) {
            const RankedFeature feature{ranks.data() + i * n_rows,
                                        classes.data(),
                                        weights ? weights->data() : nullptr,
                                        n_rows,
                                        n_distinct.data()[i],
                                        n_classes};
            for (std::int64_t row = 0; row < n_rows; ++row) {
                require(feature.ranks[row] < feature.n_distinct, "ranks must be below n_distinct");
            }
            cuts[static_cast<std::size_t>(i)] =
                entropy_cuts(feature, kind, max_depth, seeds.data()[i], log);
        });
    }
    std::vector<NumpyVector<std::int32_t>> arrays;
    for (auto& one : cuts) arrays.push_back(to_numpy(std::move(one)));
    return arrays;
}

// Coded rows as Python hands them over.
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
    require(name == "grouped", "counting must be a known way to count, got " + name);
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
        require(table.arities[i] == arities.data()[i],
                "codes of feature " + std::to_string(i) + " must not be -1 where counts are kept");
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

// One call of a named popcount kernel on four planes a side; None where it can't run.
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

void bind_data(nb::module_& m) {
    m.def("rank_values", &rank_values_of, "values"_a, "ranks"_a, "n_threads"_a);
    m.def("cut_values", &cut_values_of, "values"_a, "cut_points"_a, "missing_codes"_a,
          "positions"_a, "codes"_a, "n_threads"_a);
    m.def("entropy_cuts", &entropy_cuts_of, "ranks"_a, "n_distinct"_a, "classes"_a, "n_classes"_a,
          "weights"_a.none(), "rule"_a, "max_depth"_a, "seeds"_a, "n_threads"_a);

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
