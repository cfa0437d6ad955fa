#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "common/interrupt.hpp"
#include "common/parallel.hpp"
#include "pairs/bit_slices.hpp"
#include "pairs/pair_counts.hpp"
#include "pairs/pair_tasks.hpp"

namespace priorwise {
namespace {

// Sums f(n) over the cells of one class after the other, and over their margins.
template <class Count>
class KnownSum {
  public:
    KnownSum(std::int32_t n_left, std::int32_t n_right, const FixedLog& log)
        : log_(log), left_(n_left), right_(n_right) {}

    void add(std::int64_t a, std::int64_t b, Count n) {
        sum_ += log_(n);
        left_[a] += n;
        right_[b] += n;
        total_ += n;
    }

    void end_class() {
        for (auto* margin : {&left_, &right_})
            for (auto& n : *margin) {
                sum_ -= log_(n);
                n = Count{0};
            }
        sum_ += log_(total_);
        total_ = Count{0};
    }

    std::int64_t sum() const { return sum_; }

  private:
    const FixedLog& log_;
    std::vector<Count> left_, right_;
    Count total_{0};
    std::int64_t sum_ = 0;
};

constexpr std::int64_t kDenseCells = 1 << 20;  // of a thread's table
constexpr std::int64_t kChunk = 512;           // pairs between two polls for interrupts

template <class Count>
class CountedPairs : public PairMeasure {
  public:
    CountedPairs(CodedTable table, RowWeights weights, int n_threads)
        : table_(std::move(table)),
          weights_(weights),
          total_(total_weight(table_, weights)),
          log_(total_, weights.real != nullptr ? table_.n_rows : 0,
               std::min<std::int64_t>(table_.n_rows, kMostTabledRows)),
          margins_(make_margins<Count>(table_)),
          place_(static_cast<std::size_t>(table_.n_features), -1) {
        parallel_for(table_.n_features, n_threads,
                     [&](std::int64_t i) { count_margin(table_, weights_, i, margins_.of(i)); });
        sums_ = sum_margins(log_, total_, margins_.counts.data(), table_.arities, table_.n_known,
                            table_.n_classes);
        if (!fits_bits(table_, weights)) return;
        const auto narrow = narrow_features(table_);
        for (std::size_t f = 0; f < narrow.size(); ++f)
            place_[static_cast<std::size_t>(narrow[f])] = static_cast<std::int64_t>(f);
        slices_.emplace(table_, order_by_class(table_, weights, true), narrow, 1, n_threads);
    }

    Information features() const override { return {sums_.mutual, {}, sums_.n_seen}; }

    std::vector<double> measure(std::int64_t i, std::span<const std::int64_t> others,
                                int n_threads) const override {
        std::vector<double> result(others.size());
        const auto n = static_cast<std::int64_t>(others.size());
        const std::int64_t n_steps = n * std::min<std::int64_t>(table_.n_rows, 1 << 20);
        parallel_for((n + kChunk - 1) / kChunk, threads_for(n_steps, n_threads),
                     [&](std::int64_t c) {
                         const auto begin = static_cast<std::size_t>(c * kChunk);
                         const auto size = std::min<std::size_t>(kChunk, others.size() - begin);
                         measure_chunk(i, others.subspan(begin, size), result.data() + begin);
                     });
        return result;
    }

  private:
    struct Scratch {
        std::vector<std::int64_t> base;  // of each row, the place of its class and value of i
        std::vector<Count> cells;        // all zero between two pairs
    };

    void measure_chunk(std::int64_t i, std::span<const std::int64_t> others, double* out) const {
        Scratch scratch;
        std::vector<std::size_t> grouped;
        for (std::size_t o = 0; o < others.size(); ++o) {
            const std::int64_t j = others[o];
            const std::int64_t cells =
                static_cast<std::int64_t>(table_.n_classes) * table_.arity(i) * table_.arity(j);
            if (table_.misses(i) || table_.misses(j)) {
                // In this order real weights are added up as in `measure_information`.
                const auto [a, b] = std::minmax(i, j);
                const std::int64_t sum = sum_known_pair<Count>(table_, weights_, a, b, log_);
                out[o] = information_in_nats(log_, total_, sum);
            } else if (uses_bits(i, j, cells)) {
                out[o] = in_nats(i, j, sum_bits(i, j));
            } else if (cells <= kDenseCells) {
                out[o] = in_nats(i, j, sum_rows(i, j, cells, scratch));
            } else {
                grouped.push_back(o);
            }
        }
        if (grouped.empty()) return;
        Partners pairs{i, {}};
        for (const auto o : grouped) pairs.others.push_back(others[o]);
        const RowOrder order = order_by_class(table_, weights_, false);
        const auto joint = sum_grouped_pairs<Count>(table_, weights_, order, pairs, log_);
        for (std::size_t g = 0; g < grouped.size(); ++g) {
            out[grouped[g]] = in_nats(i, others[grouped[g]], joint[g]);
        }
    }

    double in_nats(std::int64_t i, std::int64_t j, std::int64_t joint) const {
        const auto& terms = sums_.class_feature;
        const std::int64_t sum = joint - terms[static_cast<std::size_t>(i)] -
                                 terms[static_cast<std::size_t>(j)] + sums_.classes;
        return information_in_nats(log_, total_, sum);
    }

    bool uses_bits(std::int64_t i, std::int64_t j, std::int64_t cells) const {
        if (std::min(place(i), place(j)) < 0) return false;
        const std::int64_t planes =
            static_cast<std::int64_t>(table_.arity(i) - 1) * (table_.arity(j) - 1);
        return planes * slices_->n_words() + cells <= 2 * table_.n_rows;
    }

    std::int64_t place(std::int64_t i) const { return place_[static_cast<std::size_t>(i)]; }

    const std::uint64_t* first_plane(std::int64_t i) const {
        return slices_->plane(slices_->first_plane(static_cast<std::size_t>(place(i))));
    }

    // Cells without a zero from bits, the others from the margins.
    std::int64_t sum_bits(std::int64_t i, std::int64_t j) const {
        const std::int64_t ai = table_.arity(i), aj = table_.arity(j), size = slices_->n_words();
        const std::uint64_t *planes_i = first_plane(i), *planes_j = first_plane(j);
        std::int64_t sum = 0;
        for (std::int32_t k = 0; k < table_.n_classes; ++k) {
            const std::int64_t begin = slices_->class_word(k), end = slices_->class_word(k + 1);
            const Count *of_i = margins_.of(i) + k * ai, *of_j = margins_.of(j) + k * aj;
            std::int64_t first_row[kMaxBitArity];  // cells of value 0 of feature i
            for (std::int64_t v = 0; v < aj; ++v) {
                first_row[v] = static_cast<std::int64_t>(of_j[v]);
            }
            for (std::int64_t u = 1; u < ai; ++u) {
                const std::uint64_t* a = planes_i + (u - 1) * size;
                auto rest = static_cast<std::int64_t>(of_i[u]);
                for (std::int64_t v = 1; v < aj; ++v) {
                    const std::uint64_t* b = planes_j + (v - 1) * size;
                    std::int64_t n = 0;
                    for (std::int64_t w = begin; w < end; ++w) n += std::popcount(a[w] & b[w]);
                    sum += log_(n);
                    rest -= n;
                    first_row[v] -= n;
                }
                sum += log_(rest);
                first_row[0] -= rest;
            }
            for (std::int64_t v = 0; v < aj; ++v) sum += log_(first_row[v]);
        }
        return sum;
    }

    std::int64_t sum_rows(std::int64_t i, std::int64_t j, std::int64_t cells,
                          Scratch& scratch) const {
        if (scratch.base.empty()) {
            const std::int32_t* codes = table_.feature(i);
            for (std::int64_t row = 0; row < table_.n_rows; ++row) {
                const std::int64_t k = table_.classes[row];
                scratch.base.push_back(k * table_.arity(i) + codes[row]);
            }
        }
        if (static_cast<std::int64_t>(scratch.cells.size()) < cells) {
            scratch.cells.resize(static_cast<std::size_t>(cells), Count{0});
        }
        const std::int32_t* codes = table_.feature(j);
        const std::int32_t arity = table_.arity(j);
        const auto cell = [&](std::int64_t row) -> Count& {
            const std::int64_t at = scratch.base[static_cast<std::size_t>(row)] * arity;
            return scratch.cells[static_cast<std::size_t>(at + codes[row])];
        };
        for (std::int64_t row = 0; row < table_.n_rows; ++row) {
            cell(row) += weight_of<Count>(weights_, row);
        }
        std::int64_t sum = 0;
        for (std::int64_t row = 0; row < table_.n_rows; ++row) {
            sum += log_(cell(row));
            cell(row) = Count{0};  // a cell counts once, and the table is clean for the next pair
        }
        return sum;
    }

    const CodedTable table_;
    RowWeights weights_;
    double total_;
    FixedLog log_;
    Margins<Count> margins_;
    MarginSums sums_;
    std::vector<std::int64_t> place_;  // of each feature in slices_, -1 if it has no bits
    std::optional<BitSlices> slices_;
};

}  // namespace

template <class Count>
std::int64_t sum_known_cells(const Count* cells, std::int32_t n_classes, ValueRange i, ValueRange j,
                             const FixedLog& log) {
    KnownSum<Count> sum(i.known, j.known, log);
    for (std::int32_t k = 0; k < n_classes; ++k) {
        for (std::int64_t a = 0; a < i.known; ++a)
            for (std::int64_t b = 0; b < j.known; ++b) {
                const Count n = cells[(std::int64_t{k} * i.arity + a) * j.arity + b];
                if (n > 0) sum.add(a, b, n);
            }
        sum.end_class();
    }
    return sum.sum();
}

template <class Count>
std::int64_t sum_known_pair(const CodedTable& table, RowWeights weights, std::int64_t i,
                            std::int64_t j, const FixedLog& log) {
    poll_interrupt();
    const std::int64_t n_left = table.n_known[static_cast<std::size_t>(i)];
    const std::int64_t n_right = table.n_known[static_cast<std::size_t>(j)];
    const auto *x = table.feature(i), *z = table.feature(j);
    const auto for_rows = [&](auto&& use) {
        for (std::int64_t row = 0; row < table.n_rows; ++row)
            if (x[row] >= 0 && z[row] >= 0)
                use((table.classes[row] * n_left + x[row]) * n_right + z[row],
                    weight_of<Count>(weights, row));
    };
    const auto n_cells = table.n_classes * n_left * n_right;
    if (n_cells <= std::max<std::int64_t>(1024, 4 * table.n_rows)) {
        std::vector<Count> cells(static_cast<std::size_t>(n_cells), Count{0});
        for_rows([&](std::int64_t cell, Count n) { cells[cell] += n; });
        const auto left = static_cast<std::int32_t>(n_left);
        const auto right = static_cast<std::int32_t>(n_right);
        return sum_known_cells<Count>(cells.data(), table.n_classes, {left, left}, {right, right},
                                      log);
    }
    struct Row {
        std::int64_t cell;
        std::int64_t place;
        Count n;
    };
    std::vector<Row> rows;
    for_rows([&](std::int64_t cell, Count n) { rows.push_back({cell, std::ssize(rows), n}); });
    sort_polling(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return std::pair(a.cell, a.place) < std::pair(b.cell, b.place);
    });
    KnownSum<Count> sum(static_cast<std::int32_t>(n_left), static_cast<std::int32_t>(n_right), log);
    std::int64_t k = 0;
    for (std::size_t r = 0; r < rows.size();) {
        const auto cell = rows[r].cell;
        Count n{0};
        for (; r < rows.size() && rows[r].cell == cell; ++r) n += rows[r].n;
        for (; k < cell / (n_left * n_right); ++k) sum.end_class();
        if (n > 0) sum.add(cell / n_right % n_left, cell % n_right, n);
    }
    sum.end_class();
    return sum.sum();
}

template std::int64_t sum_known_cells(const std::int64_t*, std::int32_t, ValueRange, ValueRange,
                                      const FixedLog&);
template std::int64_t sum_known_cells(const double*, std::int32_t, ValueRange, ValueRange,
                                      const FixedLog&);
template std::int64_t sum_known_pair<std::int64_t>(const CodedTable&, RowWeights, std::int64_t,
                                                   std::int64_t, const FixedLog&);
template std::int64_t sum_known_pair<double>(const CodedTable&, RowWeights, std::int64_t,
                                             std::int64_t, const FixedLog&);

std::unique_ptr<const PairMeasure> make_pair_measure(CodedTable table, RowWeights weights,
                                                     int n_threads) {
    if (weights.real != nullptr)
        return std::make_unique<CountedPairs<double>>(std::move(table), weights, n_threads);
    return std::make_unique<CountedPairs<std::int64_t>>(std::move(table), weights, n_threads);
}

}  // namespace priorwise
