#include "pairs/pair_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "common/parallel.hpp"
#include "common/require.hpp"
#include "pairs/bit_slices.hpp"
#include "pairs/pair_tasks.hpp"

namespace priorwise {
namespace {

constexpr std::int64_t kMinRowsPerClass = 64;  // below it padding and margins cost more
constexpr std::int64_t kMaxRepeats = 4;        // rows written per row, for whole weights
constexpr std::int64_t kDenseCells = 1 << 15;  // a thread's tables stay in its cache

// Beyond 2^53 sums of whole weights are no longer exact.
void check_total(double total) {
    require(total <= 0x1p53, "weights must have a sum of at most 2**53, got ", total);
}

bool can_use_bits(const CodedTable& table, RowWeights weights) {
    return table.n_rows >= kMinRowsPerClass * table.n_classes && fits_bits(table, weights);
}

std::int64_t n_cells(const CodedTable& table, std::int64_t i, std::int64_t j) {
    return static_cast<std::int64_t>(table.n_classes) * table.arity(i) * table.arity(j);
}

// For each feature its partners that `accept` takes, at most `max_cells` cells per list.
template <class Accept>
std::vector<Partners> list_partners(const CodedTable& table, std::int64_t max_cells,
                                    Accept&& accept) {
    std::vector<Partners> lists;
    for (std::int64_t i = 0; i < table.n_features; ++i) {
        std::int64_t cells = 0;
        bool open = false;
        for (std::int64_t j = i + 1; j < table.n_features; ++j) {
            if (!accept(i, j)) continue;
            const std::int64_t more = n_cells(table, i, j);
            if (!open || more > max_cells - cells) {
                lists.push_back({i, {}});
                cells = 0;
                open = true;
            }
            lists.back().others.push_back(j);
            cells += more;
        }
    }
    return lists;
}

// n ln n summed over the cells of every pair, and the terms all pairs share.
class InformationSums {
  public:
    InformationSums(std::int64_t n_features, double total, std::int64_t n_terms,
                    std::int64_t n_rows)
        : log(total, n_terms, std::min<std::int64_t>(n_rows, kMostTabledRows)),
          d_(n_features),
          total_(total),
          joint_(static_cast<std::size_t>(d_ * d_), 0) {}

    std::int64_t& joint(std::int64_t i, std::int64_t j) {
        return joint_[static_cast<std::size_t>(i * d_ + j)];
    }

    // The joint sum of a pair with missing values is that of `sum_known_pair`.
    template <class Count>
    Information finish(const Count* margins, std::span<const std::int32_t> arities,
                       std::span<const std::int32_t> n_known, std::int32_t n_classes) const {
        const auto d = static_cast<std::size_t>(d_);
        MarginSums sums = sum_margins(log, total_, margins, arities, n_known, n_classes);
        std::vector<double> conditional(d * d, 0.0);
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = i + 1; j < d; ++j) {
                std::int64_t sum = joint_[i * d + j];
                if (arities[i] == n_known[i] && arities[j] == n_known[j])
                    sum += sums.classes - sums.class_feature[i] - sums.class_feature[j];
                conditional[i * d + j] = conditional[j * d + i] =
                    information_in_nats(log, total_, sum);
            }
        }
        return {std::move(sums.mutual), std::move(conditional), std::move(sums.n_seen)};
    }

    const FixedLog log;

  private:
    std::int64_t d_;
    double total_;
    std::vector<std::int64_t> joint_;
};

template <class Count>
void sum_by_scatter(const CodedTable& table, RowWeights weights, const Partners& pairs,
                    InformationSums& sums) {
    std::vector<std::vector<Count>> storage;
    std::vector<Count*> tables;
    for (const auto j : pairs.others) {
        storage.emplace_back(static_cast<std::size_t>(n_cells(table, pairs.feature, j)), Count{0});
        tables.push_back(storage.back().data());
    }
    scatter_pairs(table, weights, pairs, tables);
    for (std::size_t o = 0; o < pairs.others.size(); ++o) {
        std::int64_t sum = 0;
        for (const Count n : storage[o]) sum += sums.log(n);
        sums.joint(pairs.feature, pairs.others[o]) = sum;
    }
}

// The part of the pairs that goes by bits, every feature's margins, and which features are narrow.
template <class Count>
struct FirstPass {
    Margins<Count> margins;
    std::vector<bool> narrow;

    FirstPass(const CodedTable& table, RowWeights weights, bool use_bits, int n_threads,
              const PairSink& sink)
        : margins(make_margins<Count>(table)),
          narrow(static_cast<std::size_t>(table.n_features), false) {
        if constexpr (std::is_same_v<Count, std::int64_t>) {
            if (use_bits) count_narrow(table, weights, n_threads, sink);
        }
        parallel_for(table.n_features, n_threads, [&](std::int64_t i) {
            if (!narrow[static_cast<std::size_t>(i)]) {
                count_margin(table, weights, i, margins.of(i));
            }
        });
    }

    bool covers(std::int64_t i, std::int64_t j) const {
        return narrow[static_cast<std::size_t>(i)] && narrow[static_cast<std::size_t>(j)];
    }

  private:
    void count_narrow(const CodedTable& table, RowWeights weights, int n_threads,
                      const PairSink& sink) {
        const RowOrder order = order_by_class(table, weights, true);
        const BitSlices slices(table, order, narrow_features(table),
                               static_cast<std::int64_t>(kWordStep), n_threads);
        for (std::size_t f = 0; f < slices.features().size(); ++f) {
            const std::int64_t i = slices.features()[f];
            narrow[static_cast<std::size_t>(i)] = true;
            slices.count_margin(f, order, margins.of(i));
        }
        count_by_bits(table, slices, margins, n_threads, sink);
    }
};

template <class Count>
Information measure(const CodedTable& table, RowWeights weights, Counting counting, int n_threads) {
    const double total = total_weight(table, weights);
    InformationSums sums(table.n_features, total, weights.real != nullptr ? table.n_rows : 0,
                         table.n_rows);
    const bool use_bits = (counting == Counting::bits && fits_bits(table, weights)) ||
                          (counting == Counting::fastest && can_use_bits(table, weights));
    const FirstPass<Count> first(
        table, weights, use_bits, n_threads,
        [&](std::int64_t i, std::int64_t j, std::int32_t, const std::int64_t* n) {
            std::int64_t sum = 0;
            const std::int64_t size = static_cast<std::int64_t>(table.arity(i)) * table.arity(j);
            for (std::int64_t c = 0; c < size; ++c) sum += sums.log(n[c]);
            sums.joint(i, j) += sum;
        });
    const auto misses = [&](std::int64_t i, std::int64_t j) {
        return table.misses(i) || table.misses(j);
    };
    // Clearing and summing a table much larger than the number of rows would take longer.
    const std::int64_t most = std::min(kDenseCells, std::max<std::int64_t>(1024, 4 * table.n_rows));
    auto is_dense = [&](std::int64_t i, std::int64_t j) {
        if (counting == Counting::dense) return true;
        return counting != Counting::grouped && n_cells(table, i, j) <= most;
    };

    const auto dense = list_partners(table, kDenseCells, [&](std::int64_t i, std::int64_t j) {
        return !first.covers(i, j) && !misses(i, j) && is_dense(i, j);
    });
    parallel_for(static_cast<std::int64_t>(dense.size()), n_threads, [&](std::int64_t t) {
        sum_by_scatter<Count>(table, weights, dense[static_cast<std::size_t>(t)], sums);
    });

    const auto grouped = list_partners(table, INT64_MAX, [&](std::int64_t i, std::int64_t j) {
        return !first.covers(i, j) && !misses(i, j) && !is_dense(i, j);
    });
    if (!grouped.empty()) {
        const RowOrder order = order_by_class(table, weights, false);
        parallel_for(static_cast<std::int64_t>(grouped.size()), n_threads, [&](std::int64_t t) {
            const Partners& pairs = grouped[static_cast<std::size_t>(t)];
            const auto found = sum_grouped_pairs<Count>(table, weights, order, pairs, sums.log);
            for (std::size_t o = 0; o < found.size(); ++o) {
                sums.joint(pairs.feature, pairs.others[o]) = found[o];
            }
        });
    }
    parallel_for(table.n_features, n_threads, [&](std::int64_t i) {
        for (auto j = i + 1; j < table.n_features; ++j)
            if (misses(i, j))
                sums.joint(i, j) = sum_known_pair<Count>(table, weights, i, j, sums.log);
    });
    return sums.finish(first.margins.counts.data(), table.arities, table.n_known, table.n_classes);
}

std::int64_t pair_number(std::int64_t i, std::int64_t j, std::int64_t d) {
    return i * d - i * (i + 1) / 2 + j - i - 1;
}

}  // namespace

bool fits_bits(const CodedTable& table, RowWeights weights) {
    if (weights.real != nullptr || table.n_rows == 0) return false;
    return total_weight(table, weights) <= static_cast<double>(kMaxRepeats * table.n_rows);
}

std::vector<std::int64_t> narrow_features(const CodedTable& table) {
    std::vector<std::int64_t> narrow;
    for (std::int64_t i = 0; i < table.n_features; ++i) {
        if (table.arity(i) <= kMaxBitArity && !table.misses(i)) narrow.push_back(i);
    }
    return narrow;
}

double total_weight(const CodedTable& table, RowWeights weights) {
    double total = 0.0;
    if (weights.real != nullptr) {
        total = std::accumulate(weights.real, weights.real + table.n_rows, 0.0);
    } else if (weights.whole != nullptr) {
        total = std::accumulate(weights.whole, weights.whole + table.n_rows, 0.0);
    } else {
        total = static_cast<double>(table.n_rows);
    }
    check_total(total);
    return total;
}

CodedTable make_table(std::vector<const std::int32_t*> codes, const std::int32_t* classes,
                      std::int64_t n_rows, std::int32_t n_classes,
                      std::span<const std::int32_t> arities, int n_threads) {
    const std::vector<std::int32_t> n_known(arities.begin(), arities.end());
    const auto n_features = std::ssize(codes);
    CodedTable table{std::move(codes), classes, n_features, n_rows, n_classes, n_known, n_known};
    for (std::int64_t row = 0; row < n_rows; ++row) {
        if (classes[row] < 0 || classes[row] >= n_classes) {
            throw std::invalid_argument("classes must lie in 0.." + std::to_string(n_classes - 1) +
                                        ", got " + std::to_string(classes[row]));
        }
    }
    parallel_for(n_features, n_threads, [&](std::int64_t i) {
        const std::int32_t* column = table.feature(i);
        if (n_rows == 0) return;
        // A plain loop, which compilers turn into wide instructions.
        std::int32_t least = column[0], largest = column[0];
        for (std::int64_t row = 1; row < n_rows; ++row) {
            least = std::min(least, column[row]);
            largest = std::max(largest, column[row]);
        }
        auto& arity = table.arities[static_cast<std::size_t>(i)];
        if (least < -1 || largest >= arity) {
            throw std::invalid_argument("codes of feature " + std::to_string(i) +
                                        " must lie in -1.." + std::to_string(arity - 1) + ", got " +
                                        std::to_string(least < -1 ? least : largest));
        }
        if (least == -1) ++arity;
    });
    return table;
}

Information measure_information(const CodedTable& table, RowWeights weights, Counting counting,
                                int n_threads) {
    if (weights.real != nullptr) return measure<double>(table, weights, counting, n_threads);
    return measure<std::int64_t>(table, weights, counting, n_threads);
}

std::vector<std::int64_t> pair_offsets(std::span<const std::int32_t> arities,
                                       std::int32_t n_classes) {
    std::vector<std::int64_t> offsets{0};
    for (std::size_t i = 0; i < arities.size(); ++i) {
        for (std::size_t j = i + 1; j < arities.size(); ++j) {
            offsets.push_back(offsets.back() +
                              static_cast<std::int64_t>(arities[i]) * arities[j] * n_classes);
        }
    }
    return offsets;
}

template <class Count>
void add_pair_counts(const CodedTable& table, RowWeights weights, PairTables<Count> tables,
                     int n_threads) {
    total_weight(table, weights);
    const auto offsets = pair_offsets(table.arities, table.n_classes);
    auto cells_of = [&](std::int64_t i, std::int64_t j) {
        return tables.cells +
               offsets[static_cast<std::size_t>(pair_number(i, j, table.n_features))];
    };
    const FirstPass<Count> first(
        table, weights, can_use_bits(table, weights), n_threads,
        [&](std::int64_t i, std::int64_t j, std::int32_t k, const std::int64_t* n) {
            const std::int64_t size = static_cast<std::int64_t>(table.arity(i)) * table.arity(j);
            Count* to = cells_of(i, j) + k * size;
            for (std::int64_t c = 0; c < size; ++c) add_count(to[c], static_cast<Count>(n[c]));
        });
    const auto& counts = first.margins.counts;
    for (std::size_t c = 0; c < counts.size(); ++c) add_count(tables.margins[c], counts[c]);

    const auto lists = list_partners(
        table, kDenseCells, [&](std::int64_t i, std::int64_t j) { return !first.covers(i, j); });
    parallel_for(static_cast<std::int64_t>(lists.size()), n_threads, [&](std::int64_t t) {
        const Partners& pairs = lists[static_cast<std::size_t>(t)];
        std::vector<Count*> to;
        for (const auto j : pairs.others) to.push_back(cells_of(pairs.feature, j));
        scatter_pairs(table, weights, pairs, to);
    });
}

template <class Count>
Information information_of_counts(PairTables<const Count> tables,
                                  std::span<const std::int32_t> arities,
                                  std::span<const std::int32_t> n_known, std::int32_t n_classes,
                                  std::int64_t n_terms, int n_threads) {
    const auto d = static_cast<std::int64_t>(arities.size());
    double total = 0.0;
    for (std::int64_t c = 0; c < static_cast<std::int64_t>(arities[0]) * n_classes; ++c) {
        total += static_cast<double>(tables.margins[c]);
    }
    check_total(total);
    const auto offsets = pair_offsets(arities, n_classes);
    InformationSums sums(d, total, n_terms, offsets.back() / 8);
    parallel_for(d, n_threads, [&](std::int64_t i) {
        for (std::int64_t j = i + 1; j < d; ++j) {
            const auto pair = static_cast<std::size_t>(pair_number(i, j, d));
            if (n_known[i] < arities[i] || n_known[j] < arities[j]) {
                sums.joint(i, j) = sum_known_cells<Count>(tables.cells + offsets[pair], n_classes,
                                                          {arities[i], n_known[i]},
                                                          {arities[j], n_known[j]}, sums.log);
                continue;
            }
            std::int64_t sum = 0;
            for (std::int64_t c = offsets[pair]; c < offsets[pair + 1]; ++c) {
                sum += sums.log(tables.cells[c]);
            }
            sums.joint(i, j) = sum;
        }
    });
    return sums.finish(tables.margins, arities, n_known, n_classes);
}

template void add_pair_counts(const CodedTable&, RowWeights, PairTables<std::int64_t>, int);
template void add_pair_counts(const CodedTable&, RowWeights, PairTables<double>, int);
template Information information_of_counts(PairTables<const std::int64_t>,
                                           std::span<const std::int32_t>,
                                           std::span<const std::int32_t>, std::int32_t,
                                           std::int64_t, int);
template Information information_of_counts(PairTables<const double>, std::span<const std::int32_t>,
                                           std::span<const std::int32_t>, std::int32_t,
                                           std::int64_t, int);

}  // namespace priorwise
