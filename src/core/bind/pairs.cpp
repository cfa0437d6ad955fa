// Bindings of the kernels of src/core/pairs.
#include "bind/shared/define.hpp"
#include "pairs/bit_slices.hpp"
#include "pairs/pair_counts.hpp"

namespace priorwise {
namespace {

using Whole = std::optional<Vector<std::int64_t>>;
using Real = std::optional<Vector<double>>;

// The number of cells of the margins of n_given codes or counts. Products of the classes with two
// arities fit into 64 bits.
std::int64_t check_arities(std::span<const std::int32_t> arities, std::int32_t n_classes,
                           std::size_t n_given) {
    require(!arities.empty(), "arities is empty");
    check_at_least(n_classes, 1, "n_classes");
    std::int64_t n_margins = 0;
    for (const auto arity : arities) {
        check_range(arity, 1, std::numeric_limits<std::int32_t>::max() / n_classes - 1, "arities");
        n_margins += static_cast<std::int64_t>(arity) * n_classes;
    }
    // Counts of each value in each class, and some of each value in each thread.
    const double n_cells = static_cast<double>(n_margins);
    require_memory(32.0 * n_cells, n_given, "arities x n_classes", n_cells);
    return n_margins;
}

std::size_t count_cells(const Columns& codes) {
    return codes.empty() ? 0 : codes.size() * codes[0].size();
}

// Rows as codes, -1 for a missing value, with their classes and weights. `make_table` checks the
// codes.
CodedTable check_table(const Columns& codes, std::span<const std::int32_t> arities,
                       const Vector<std::int32_t>& classes, std::int32_t n_classes,
                       const Whole& whole, const Real& real, int n_threads) {
    check_size(arities.size(), codes.size(), "arities", "row of codes");
    check_arities(arities, n_classes, count_cells(codes));
    const auto n_rows = check_columns(codes);
    check_size(classes.size(), static_cast<std::size_t>(n_rows), "classes", "column of codes");
    check_weights(whole, classes.size(), "whole");
    check_weights(real, classes.size(), "real");
    std::vector<const std::int32_t*> columns;
    for (const auto column : codes) columns.push_back(column.data());
    return make_table(std::move(columns), classes.data(), n_rows, n_classes, arities, n_threads);
}

// Counts of all pairs of values in each class.
void check_pairs(const CodedTable& table, std::size_t n_given) {
    double n_cells = 0.0, sum = 0.0;
    for (const double arity : table.arities) {
        n_cells += sum * arity * table.n_classes;
        sum += arity;
    }
    require_memory(8.0 * n_cells, n_given, "arities x arities x n_classes", n_cells);
}

auto to_arrays(Information&& info, std::size_t n_features) {
    return std::tuple(to_numpy(std::move(info.mutual)),
                      to_numpy(std::move(info.conditional), {n_features, n_features}),
                      to_numpy(std::move(info.n_seen)));
}

auto measure_information_of(const Columns& codes, Vector<std::int32_t> arities,
                            Vector<std::int32_t> classes, std::int32_t n_classes, Whole whole,
                            Real real, const std::string& counting, int n_threads) {
    const auto way = choose<Counting>("counting", counting,
                                      {{"fastest", Counting::fastest},
                                       {"bits", Counting::bits},
                                       {"dense", Counting::dense},
                                       {"grouped", Counting::grouped}});
    auto info = without_gil([&] {
        const auto table = check_table(codes, arities, classes, n_classes, whole, real, n_threads);
        if (way == Counting::dense) check_pairs(table, count_cells(codes));
        return measure_information(table, {data_or_null(whole), data_or_null(real)}, way,
                                   n_threads);
    });
    return to_arrays(std::move(info), codes.size());
}

// Rows, and what is measured in them.
struct WidePairs {
    Columns codes;
    Vector<std::int32_t> classes;
    Whole whole;
    Real real;
    std::unique_ptr<const PairMeasure> measure;
    std::vector<double> mutual;
    std::vector<std::int64_t> n_seen;
};

WidePairs make_wide_pairs(Columns codes, Vector<std::int32_t> arities, Vector<std::int32_t> classes,
                          std::int32_t n_classes, Whole whole, Real real, int n_threads) {
    WidePairs pairs{std::move(codes), std::move(classes), std::move(whole), std::move(real)};
    const GilRelease release;
    pairs.measure =
        make_pair_measure(check_table(pairs.codes, arities, pairs.classes, n_classes, pairs.whole,
                                      pairs.real, n_threads),
                          {data_or_null(pairs.whole), data_or_null(pairs.real)}, n_threads);
    auto info = pairs.measure->features();
    pairs.mutual = std::move(info.mutual);
    pairs.n_seen = std::move(info.n_seen);
    return pairs;
}

auto measure_pairs(const WidePairs& pairs, std::int64_t feature, Vector<std::int64_t> others,
                   int n_threads) {
    check_column(feature, pairs.codes.size(), "feature");
    if (others.size() > 0) {
        const auto [least, most] = std::ranges::minmax(view(others));
        for (const auto end : {least, most}) check_column(end, pairs.codes.size(), "others");
    }
    return to_numpy(
        without_gil([&] { return pairs.measure->measure(feature, others, n_threads); }));
}

void check_tables(std::size_t n_margins, std::size_t n_cells, std::span<const std::int32_t> arities,
                  std::int32_t n_classes) {
    check_size(n_margins, static_cast<std::size_t>(check_arities(arities, n_classes, n_margins)),
               "margins", "class and value");
    std::uint64_t wanted = 0, sum = 0;
    for (const auto arity : arities) {
        const auto per_value = static_cast<std::uint64_t>(arity) * n_classes;
        require(static_cast<double>(sum) * static_cast<double>(per_value) <= 1e18,
                "arities: there are too many pairs of values");
        wanted += sum * per_value;
        sum += static_cast<std::uint64_t>(arity);
        require(wanted <= n_cells, "cells needs one entry per class and pair of values");
    }
    check_size(n_cells, static_cast<std::size_t>(wanted), "cells", "class and pair of values");
}

template <class Count>
void add_pair_counts_to(const CodedTable& table, const Whole& whole, const Real& real,
                        const Output<Count>& margins, const Output<Count>& cells, int n_threads) {
    check_tables(margins.size(), cells.size(), table.arities, table.n_classes);
    add_pair_counts<Count>(table, {data_or_null(whole), data_or_null(real)},
                           {margins.data(), cells.data()}, n_threads);
}

void add_pair_counts_of(const Columns& codes, Vector<std::int32_t> arities,
                        Vector<std::int32_t> classes, std::int32_t n_classes, Whole whole,
                        Real real,
                        const std::variant<Output<std::int64_t>, Output<double>>& margins,
                        const std::variant<Output<std::int64_t>, Output<double>>& cells,
                        int n_threads) {
    require(margins.index() == cells.index(), "margins and cells differ in type");
    require(!real || margins.index() == 1, "margins and cells must be float64 for real weights");
    const GilRelease release;
    const auto table = check_table(codes, arities, classes, n_classes, whole, real, n_threads);
    for (std::size_t i = 0; i < arities.size(); ++i)
        require(table.arities[i] == arities[i], "codes[", i,
                "] must not be -1 where counts are kept");
    std::visit(
        [&]<class Count>(const Output<Count>& margin) {
            add_pair_counts_to(table, whole, real, margin, std::get<Output<Count>>(cells),
                               n_threads);
        },
        margins);
}

// The sum of a table of counts. Real counts are those of at most n_terms rows.
template <class Count>
double check_sum(std::span<const Count> counts, std::int64_t n_terms, const char* name) {
    check_weights(counts, counts.size(), name);
    double sum = 0.0;
    std::int64_t n_positive = 0;
    for (const Count n : counts) {
        sum += static_cast<double>(n);
        n_positive += n > 0;
    }
    if (std::is_floating_point_v<Count>) check_at_least(n_terms, n_positive, "n_terms");
    return sum;
}

// Every row is in one cell of each margin and of each pair: all have the same sum, but for
// rounding.
template <class Count>
void check_counts(std::span<const Count> margins, std::span<const Count> cells,
                  std::span<const std::int32_t> arities, std::int32_t n_classes,
                  std::int64_t n_terms) {
    double total = -1.0;
    const auto take = [&](std::span<const Count>& counts, std::size_t size, const char* name) {
        const double sum = check_sum(counts.first(size), n_terms, name);
        if (total < 0.0) total = sum;
        require(std::abs(sum - total) <= 1e-6 * total, name,
                " must have the same sum for all features");
        counts = counts.subspan(size);
    };
    const auto n_k = static_cast<std::size_t>(n_classes);
    for (std::size_t i = 0; i < arities.size(); ++i) {
        const auto size = static_cast<std::size_t>(arities[i]) * n_k;
        take(margins, size, "margins");
        for (std::size_t j = i + 1; j < arities.size(); ++j)
            take(cells, size * static_cast<std::size_t>(arities[j]), "cells");
    }
}

auto information_of_counts_of(const std::variant<Vector<std::int64_t>, Vector<double>>& margins,
                              const std::variant<Vector<std::int64_t>, Vector<double>>& cells,
                              Vector<std::int32_t> arities, Vector<std::int32_t> n_known,
                              std::int32_t n_classes, std::int64_t n_terms, int n_threads) {
    check_size(n_known.size(), arities.size(), "n_known", "feature");
    for (std::size_t i = 0; i < arities.size(); ++i)
        check_range(n_known[i], 1, arities[i], "n_known");
    require(margins.index() == cells.index(), "margins and cells differ in type");
    check_at_least(n_terms, 0, "n_terms");
    Information info;
    without_gil([&] {
        std::visit(
            [&]<class Count>(const Array<const Count, 1>& margin) {
                const auto& cell = std::get<Array<const Count, 1>>(cells);
                check_tables(margin.size(), cell.size(), arities, n_classes);
                check_counts<Count>(margin, cell, arities, n_classes, n_terms);
                info = information_of_counts<Count>({margin.data(), cell.data()}, arities, n_known,
                                                    n_classes, n_terms, n_threads);
            },
            margins);
    });
    return to_arrays(std::move(info), arities.size());
}

// One call of a named popcount kernel on four planes a side; None if this processor cannot run it.
std::optional<NumpyVector<std::uint64_t>> shared_bits_of(const std::string& kernel,
                                                         Matrix<std::uint64_t> left,
                                                         Matrix<std::uint64_t> right) {
    const std::size_t n_words = left.shape(1);
    require(left.shape(0) == kQuad && right.shape(0) == kQuad && right.shape(1) == n_words &&
                n_words % kWordStep == 0,
            "left and right need four planes of the same whole steps of words");
    const SharedBits multiply = find_shared_bits(kernel.c_str());
    if (multiply == nullptr) return std::nullopt;
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
    define(m, "measure_information", &measure_information_of, "codes", "arities", "classes",
           "n_classes", "whole", "real", "counting", "n_threads");
    define(m, "add_pair_counts", &add_pair_counts_of, "codes", "arities", "classes", "n_classes",
           "whole", "real", "margins", "cells", "n_threads");
    define(m, "information_of_counts", &information_of_counts_of, "margins", "cells", "arities",
           "n_known", "n_classes", "n_terms", "n_threads");
    nb::class_<WidePairs> wide(m, "WidePairs");
    define_init(wide, "WidePairs", &make_wide_pairs, "codes", "arities", "classes", "n_classes",
                "whole", "real", "n_threads");
    define_arrays(wide, "mutual", &WidePairs::mutual, "n_seen", &WidePairs::n_seen);
    define(m, "measure_pairs", &measure_pairs, "pairs", "feature", "others", "n_threads");
    define(m, "shared_bits", &shared_bits_of, "kernel", "left", "right");
}

}  // namespace priorwise
