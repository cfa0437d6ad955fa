#include "pairs/wide_pairs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>

#include "common/parallel.hpp"
#include "pairs/known_pairs.hpp"
#include "pairs/pair_tasks.hpp"

namespace priorwise {
namespace {

constexpr std::int32_t kMaxBitArity = 16;
constexpr std::int64_t kMaxRepeats = 4;        // rows written per row, for whole weights
constexpr std::int64_t kDenseCells = 1 << 20;  // of a thread's table
constexpr std::int64_t kChunk = 512;           // pairs between two polls for interrupts

// Rows of each class as bits, padded to whole words: one plane per value but the first. Features
// with missing values have none.
struct Planes {
    std::vector<std::int64_t> class_word{0};
    std::vector<std::int64_t> first;  // plane of each feature's value 1, -1 without planes
    std::vector<std::uint64_t> words;

    Planes(const CodedTable& table, RowWeights weights, int n_threads) {
        const RowOrder order = order_by_class(table, weights, true);
        const auto& begin = order.class_begin;
        for (std::size_t k = 0; k + 1 < begin.size(); ++k) {
            class_word.push_back(class_word.back() + (begin[k + 1] - begin[k] + 63) / 64);
        }
        std::int64_t n_planes = 0;
        for (std::int64_t i = 0; i < table.n_features; ++i) {
            const bool has_planes = table.arity(i) <= kMaxBitArity && !table.misses(i);
            first.push_back(has_planes ? n_planes : -1);
            if (has_planes) n_planes += table.arity(i) - 1;
        }
        words.assign(static_cast<std::size_t>(n_planes * class_word.back()), 0);
        parallel_for(table.n_features, n_threads, [&](std::int64_t i) {
            if (first[static_cast<std::size_t>(i)] < 0) return;
            const std::int32_t* codes = table.feature(i);
            for (std::size_t k = 0; k + 1 < begin.size(); ++k) {
                for (std::int64_t at = begin[k]; at < begin[k + 1]; ++at) {
                    const std::int64_t bit = at - begin[k];
                    const auto row = order.rows[static_cast<std::size_t>(at)];
                    const std::int32_t value = codes[row];
                    if (value > 0) plane(i, value)[class_word[k] + bit / 64] |= 1ULL << (bit % 64);
                }
            }
        });
    }

    std::int64_t n_words() const { return class_word.back(); }
    const std::uint64_t* plane(std::int64_t i, std::int64_t value) const {
        return words.data() + (first[static_cast<std::size_t>(i)] + value - 1) * n_words();
    }
    std::uint64_t* plane(std::int64_t i, std::int64_t value) {
        return words.data() + (first[static_cast<std::size_t>(i)] + value - 1) * n_words();
    }
};

// The information of pairs of features, one at a time.
template <class Count>
class PairMeasure {
  public:
    PairMeasure(const CodedTable& table, RowWeights weights, int n_threads)
        : table_(table),
          weights_(weights),
          total_(total_weight(table, weights)),
          log_(total_, weights.real != nullptr ? table.n_rows : 0),
          margins_(make_margins<Count>(table)) {
        parallel_for(table.n_features, n_threads,
                     [&](std::int64_t i) { count_margin(table_, weights_, i, margins_.of(i)); });
        sums_ = sum_margins(log_, total_, margins_.counts.data(), table.arities, table.n_known,
                            table.n_classes);
        const double most = static_cast<double>(kMaxRepeats) * static_cast<double>(table.n_rows);
        if (weights.real == nullptr && total_ > 0.0 && total_ <= most) {
            planes_.emplace(table, weights, n_threads);
        }
    }

    MarginSums& sums() { return sums_; }

    // The mean of the information of independent features (see Information.bias in Python).
    double bias(std::int64_t i, std::int64_t j) const {
        const std::int64_t *a = seen(i), *b = seen(j);
        double sum = 0.0;
        for (std::int32_t k = 0; k < table_.n_classes; ++k) {
            sum += static_cast<double>(std::max<std::int64_t>(a[k] - 1, 0)) *
                   static_cast<double>(std::max<std::int64_t>(b[k] - 1, 0));
        }
        return sum / (2.0 * std::max(total_, 1.0));
    }

    // I(X_i; X_j | Y) of feature i with each of the others.
    void measure(std::int64_t i, std::span<const std::int64_t> others, double* out) const {
        Scratch scratch;
        std::vector<std::size_t> grouped;
        for (std::size_t o = 0; o < others.size(); ++o) {
            const std::int64_t j = others[o];
            const std::int64_t cells =
                static_cast<std::int64_t>(table_.n_classes) * table_.arity(i) * table_.arity(j);
            if (o % kChunk == 0) poll_interrupt();
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

  private:
    struct Scratch {
        std::vector<std::int64_t> base;  // of each row, the place of its class and value of i
        std::vector<Count> cells;        // all zero between two pairs
    };

    const std::int64_t* seen(std::int64_t i) const {
        return sums_.n_seen.data() + i * table_.n_classes;
    }

    double in_nats(std::int64_t i, std::int64_t j, std::int64_t joint) const {
        const auto& terms = sums_.class_feature;
        const std::int64_t sum = joint - terms[static_cast<std::size_t>(i)] -
                                 terms[static_cast<std::size_t>(j)] + sums_.classes;
        return information_in_nats(log_, total_, sum);
    }

    bool uses_bits(std::int64_t i, std::int64_t j, std::int64_t cells) const {
        if (!planes_) return false;
        const auto at = [&](std::int64_t f) { return planes_->first[static_cast<std::size_t>(f)]; };
        if (at(i) < 0 || at(j) < 0) return false;
        const std::int64_t planes =
            static_cast<std::int64_t>(table_.arity(i) - 1) * (table_.arity(j) - 1);
        return planes * planes_->n_words() + cells <= 2 * table_.n_rows;
    }

    // Cells without a zero from bits, the others from the margins.
    std::int64_t sum_bits(std::int64_t i, std::int64_t j) const {
        const std::int64_t ai = table_.arity(i), aj = table_.arity(j);
        std::int64_t sum = 0;
        for (std::int32_t k = 0; k < table_.n_classes; ++k) {
            const std::int64_t begin = planes_->class_word[static_cast<std::size_t>(k)];
            const std::int64_t end = planes_->class_word[static_cast<std::size_t>(k) + 1];
            const Count *of_i = margins_.of(i) + k * ai, *of_j = margins_.of(j) + k * aj;
            std::int64_t first_row[kMaxBitArity];  // cells of value 0 of feature i
            for (std::int64_t v = 0; v < aj; ++v) {
                first_row[v] = static_cast<std::int64_t>(of_j[v]);
            }
            for (std::int64_t u = 1; u < ai; ++u) {
                const std::uint64_t* a = planes_->plane(i, u);
                auto rest = static_cast<std::int64_t>(of_i[u]);
                for (std::int64_t v = 1; v < aj; ++v) {
                    const std::uint64_t* b = planes_->plane(j, v);
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

    const CodedTable& table_;
    RowWeights weights_;
    double total_;
    FixedLog log_;
    Margins<Count> margins_;
    MarginSums sums_;
    std::optional<Planes> planes_;
};

// Calls `use` with the measure for integer or real counts.
template <class Use>
auto with_measure(const CodedTable& table, RowWeights weights, int n_threads, Use&& use) {
    if (weights.real != nullptr) return use(PairMeasure<double>(table, weights, n_threads));
    return use(PairMeasure<std::int64_t>(table, weights, n_threads));
}

}  // namespace

Information measure_features(const CodedTable& table, RowWeights weights, int n_threads) {
    return with_measure(table, weights, n_threads, [&](auto&& pairs) {
        auto& sums = pairs.sums();
        return Information{std::move(sums.mutual), {}, std::move(sums.n_seen)};
    });
}

std::vector<std::int32_t> find_best_parents(const CodedTable& table, RowWeights weights,
                                            std::span<const std::int64_t> order,
                                            std::int64_t max_parents, bool subtract_bias,
                                            int n_threads) {
    std::vector<std::int32_t> parents(static_cast<std::size_t>(table.n_features * max_parents), -1);
    with_measure(table, weights, n_threads, [&](auto&& pairs) {
        parallel_for(table.n_features, n_threads, [&](std::int64_t piece) {
            // The features with the most candidates come first.
            const std::int64_t place = table.n_features - 1 - piece;
            const std::int64_t child = order[static_cast<std::size_t>(place)];
            const auto earlier = order.first(static_cast<std::size_t>(place));
            std::vector<double> score(earlier.size());
            pairs.measure(child, earlier, score.data());
            std::vector<std::size_t> best;
            for (std::size_t e = 0; e < earlier.size(); ++e) {
                if (subtract_bias) {
                    score[e] -= pairs.bias(child, earlier[e]);
                    if (!(score[e] > 0.0)) continue;
                }
                if (static_cast<std::int64_t>(best.size()) == max_parents) {
                    if (best.empty() || !(score[e] > score[best.back()])) continue;
                    best.pop_back();
                }
                const auto at = std::ranges::upper_bound(best, score[e], std::ranges::greater{},
                                                         [&](std::size_t b) { return score[b]; });
                best.insert(at, e);
            }
            for (std::size_t b = 0; b < best.size(); ++b) {
                parents[static_cast<std::size_t>(child * max_parents) + b] =
                    static_cast<std::int32_t>(earlier[best[b]]);
            }
        });
    });
    return parents;
}

SpanningTree find_spanning_tree(const CodedTable& table, RowWeights weights, std::int64_t root,
                                int n_threads) {
    const auto d = static_cast<std::size_t>(table.n_features);
    SpanningTree tree{{}, std::vector<std::int32_t>(d, -1)};
    with_measure(table, weights, n_threads, [&](auto&& pairs) {
        // Features outside the tree, ascending, with their heaviest arc and where it begins.
        std::vector<std::int64_t> outside(d);
        std::iota(outside.begin(), outside.end(), 0);
        std::vector<double> heaviest(d, -1.0), arcs(d);
        std::int64_t child = root;
        for (;;) {
            tree.order.push_back(static_cast<std::int32_t>(child));
            const auto at = std::ranges::lower_bound(outside, child) - outside.begin();
            outside.erase(outside.begin() + at);
            if (outside.empty()) return;
            heaviest.erase(heaviest.begin() + at);
            const auto n = static_cast<std::int64_t>(outside.size());
            const std::int64_t n_steps = n * std::min<std::int64_t>(table.n_rows, 1 << 20);
            parallel_for(
                (n + kChunk - 1) / kChunk, threads_for(n_steps, n_threads), [&](std::int64_t c) {
                    const auto begin = static_cast<std::size_t>(c * kChunk);
                    const auto size = std::min<std::size_t>(kChunk, outside.size() - begin);
                    pairs.measure(child, std::span(outside).subspan(begin, size),
                                  arcs.data() + begin);
                });
            std::size_t best = 0;
            for (std::size_t o = 0; o < outside.size(); ++o) {
                if (arcs[o] > heaviest[o]) {
                    heaviest[o] = arcs[o];
                    tree.parent[static_cast<std::size_t>(outside[o])] =
                        static_cast<std::int32_t>(child);
                }
                if (heaviest[o] > heaviest[best]) best = o;
            }
            child = outside[best];
        }
    });
    return tree;
}

}  // namespace priorwise
