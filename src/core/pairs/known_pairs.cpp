#include "pairs/known_pairs.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/interrupt.hpp"
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

}  // namespace priorwise
