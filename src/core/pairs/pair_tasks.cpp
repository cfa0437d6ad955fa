// Pair counts over bit planes: a matrix product whose multiply is AND and whose sum is popcount;
// and by scatter, for features of many values and for real weights.
#include "pairs/pair_tasks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "common/parallel.hpp"
#include "pairs/bit_slices.hpp"

namespace priorwise {
namespace {

// Planes of a tile: two tiles of one block of rows stay in the first-level cache.
constexpr std::int64_t kTilePlanes = 36;
constexpr std::int64_t kBlockWords = 56;

struct Tile {
    std::size_t first, last;  // features, as positions in the slices
    std::int64_t first_plane;
    std::int64_t n_planes;
};

std::vector<Tile> make_tiles(const BitSlices& slices) {
    std::vector<Tile> tiles;
    for (std::size_t f = 0; f < slices.features().size(); ++f) {
        const std::int64_t extra = slices.n_planes(f);
        if (tiles.empty() || tiles.back().n_planes + extra > kTilePlanes) {
            tiles.push_back({f, f, slices.first_plane(f), 0});
        }
        tiles.back().last = f + 1;
        tiles.back().n_planes += extra;
    }
    return tiles;
}

// shared[p * stride + q]: rows of class k in plane p of one tile and plane q of the other.
class TileProduct {
  public:
    TileProduct(const BitSlices& slices, const Tile& left, const Tile& right)
        : slices_(slices),
          left_(left),
          right_(right),
          multiply_(pick_shared_bits()),
          stride_(round_up(right.n_planes)),
          shared_(static_cast<std::size_t>(round_up(left.n_planes) * stride_)) {}

    void compute(std::int32_t k) {
        std::fill(shared_.begin(), shared_.end(), 0);
        const std::int64_t end = slices_.class_word(k + 1);
        for (std::int64_t word = slices_.class_word(k); word < end; word += kBlockWords) {
            poll_interrupt();
            add_block(word, static_cast<std::size_t>(std::min(kBlockWords, end - word)));
        }
    }

    std::int64_t operator()(std::int64_t p, std::int64_t q) const {
        return static_cast<std::int64_t>(shared_[static_cast<std::size_t>(p * stride_ + q)]);
    }

  private:
    static constexpr std::int64_t kSide = static_cast<std::int64_t>(kQuad);

    static std::int64_t round_up(std::int64_t n) { return (n + kSide - 1) / kSide * kSide; }

    // Four planes from p on; past the tile's end the first plane again, its counts unread.
    std::array<const std::uint64_t*, kQuad> quad(const Tile& tile, std::int64_t p,
                                                 std::int64_t word) const {
        std::array<const std::uint64_t*, kQuad> planes;
        for (std::int64_t s = 0; s < kSide; ++s) {
            const std::int64_t plane = p + s < tile.n_planes ? p + s : 0;
            planes[static_cast<std::size_t>(s)] = slices_.plane(tile.first_plane + plane) + word;
        }
        return planes;
    }

    void add_block(std::int64_t word, std::size_t n_words) {
        const bool same = left_.first == right_.first;
        for (std::int64_t p = 0; p < left_.n_planes; p += kSide) {
            const auto a = quad(left_, p, word);
            for (std::int64_t q = same ? p : 0; q < right_.n_planes; q += kSide) {
                const auto b = quad(right_, q, word);
                std::uint64_t sums[kQuad * kQuad] = {};
                multiply_(a.data(), b.data(), n_words, sums);
                for (std::int64_t s = 0; s < kSide; ++s) {
                    for (std::int64_t t = 0; t < kSide; ++t) {
                        shared_[static_cast<std::size_t>((p + s) * stride_ + q + t)] +=
                            sums[kSide * s + t];
                    }
                }
            }
        }
    }

    const BitSlices& slices_;
    const Tile& left_;
    const Tile& right_;
    SharedBits multiply_;
    std::int64_t stride_;
    std::vector<std::uint64_t> shared_;
};

// All cells of one class from those without a zero and the margins.
void complete_cells(const TileProduct& shared, std::int64_t p, std::int64_t q, std::int32_t arity_i,
                    std::int32_t arity_j, const std::int64_t* margin_i,
                    const std::int64_t* margin_j, std::int64_t* cells) {
    for (std::int32_t v = 0; v < arity_j; ++v) cells[v] = margin_j[v];
    for (std::int32_t u = 1; u < arity_i; ++u) {
        std::int64_t* row = cells + static_cast<std::int64_t>(u) * arity_j;
        std::int64_t rest = margin_i[u];
        for (std::int32_t v = 1; v < arity_j; ++v) {
            row[v] = shared(p + u - 1, q + v - 1);
            rest -= row[v];
            cells[v] -= row[v];
        }
        row[0] = rest;
        cells[0] -= rest;
    }
}

void count_tiles(const CodedTable& table, const BitSlices& slices,
                 const Margins<std::int64_t>& margins, const Tile& left, const Tile& right,
                 const PairSink& sink) {
    TileProduct shared(slices, left, right);
    std::vector<std::int64_t> cells;
    for (std::int32_t k = 0; k < table.n_classes; ++k) {
        shared.compute(k);
        for (std::size_t f = left.first; f < left.last; ++f) {
            for (std::size_t g = std::max(f + 1, right.first); g < right.last; ++g) {
                const std::int64_t i = slices.features()[f], j = slices.features()[g];
                const std::int32_t ai = table.arity(i), aj = table.arity(j);
                cells.resize(static_cast<std::size_t>(ai) * static_cast<std::size_t>(aj));
                complete_cells(shared, slices.first_plane(f) - left.first_plane,
                               slices.first_plane(g) - right.first_plane, ai, aj,
                               margins.of(i) + static_cast<std::int64_t>(k) * ai,
                               margins.of(j) + static_cast<std::int64_t>(k) * aj, cells.data());
                sink(i, j, k, cells.data());
            }
        }
    }
}

constexpr std::int64_t kBlockRows = 2048;

// The rows of one class grouped by a feature's value, groups in order of first appearance.
class Groups {
  public:
    explicit Groups(std::int32_t arity) : n_rows_(static_cast<std::size_t>(arity), 0) {}

    void group(const std::int32_t* codes, std::int32_t arity, const std::int32_t* begin,
               const std::int32_t* end) {
        values_.clear();
        rows_.resize(static_cast<std::size_t>(end - begin));
        ends_.clear();
        for (const auto* row = begin; row != end; ++row) {
            const auto value = static_cast<std::size_t>(value_of(codes[*row], arity));
            if (n_rows_[value]++ == 0) values_.push_back(value);
        }
        std::int64_t start = 0;
        for (const auto value : values_) {
            start += n_rows_[value];
            ends_.push_back(start);
            n_rows_[value] = start - n_rows_[value];
        }
        for (const auto* row = begin; row != end; ++row) {
            const auto value = static_cast<std::size_t>(value_of(codes[*row], arity));
            rows_[static_cast<std::size_t>(n_rows_[value]++)] = *row;
        }
        for (const auto value : values_) n_rows_[value] = 0;
    }

    const std::vector<std::int32_t>& rows() const { return rows_; }
    const std::vector<std::int64_t>& ends() const { return ends_; }

  private:
    std::vector<std::int64_t> n_rows_, ends_;
    std::vector<std::int32_t> rows_;
    std::vector<std::size_t> values_;
};

// `counts` has a cell per value, all zero, and is left so.
template <class Count>
std::int64_t sum_groups(const Groups& groups, const std::int32_t* codes, std::int32_t arity,
                        RowWeights weights, const FixedLog& log, std::vector<Count>& counts) {
    std::int64_t sum = 0;
    std::int64_t begin = 0;
    const auto* rows = groups.rows().data();
    for (const std::int64_t end : groups.ends()) {
        for (std::int64_t at = begin; at < end; ++at) {
            counts[static_cast<std::size_t>(value_of(codes[rows[at]], arity))] +=
                weight_of<Count>(weights, rows[at]);
        }
        if (arity <= end - begin) {
            for (std::int32_t v = 0; v < arity; ++v) {
                sum += log(counts[static_cast<std::size_t>(v)]);
            }
            std::fill(counts.begin(), counts.begin() + arity, Count{0});
        } else {
            for (std::int64_t at = begin; at < end; ++at) {
                Count& count = counts[static_cast<std::size_t>(value_of(codes[rows[at]], arity))];
                sum += log(count);
                count = 0;
            }
        }
        begin = end;
    }
    return sum;
}

}  // namespace

void count_by_bits(const CodedTable& table, const BitSlices& slices,
                   const Margins<std::int64_t>& margins, int n_threads, const PairSink& sink) {
    const auto tiles = make_tiles(slices);
    std::vector<std::pair<std::size_t, std::size_t>> tasks;
    for (std::size_t a = 0; a < tiles.size(); ++a) {
        for (std::size_t b = a; b < tiles.size(); ++b) tasks.emplace_back(a, b);
    }
    parallel_for(static_cast<std::int64_t>(tasks.size()), n_threads, [&](std::int64_t t) {
        const auto [a, b] = tasks[static_cast<std::size_t>(t)];
        count_tiles(table, slices, margins, tiles[a], tiles[b], sink);
    });
}

template <class Count>
Margins<Count> make_margins(const CodedTable& table) {
    Margins<Count> margins;
    margins.offset.push_back(0);
    for (const auto arity : table.arities) {
        margins.offset.push_back(margins.offset.back() +
                                 static_cast<std::int64_t>(arity) * table.n_classes);
    }
    margins.counts.assign(static_cast<std::size_t>(margins.offset.back()), Count{0});
    return margins;
}

template <class Count>
void count_margin(const CodedTable& table, RowWeights weights, std::int64_t i, Count* counts) {
    const std::int32_t* codes = table.feature(i);
    const std::int32_t arity = table.arity(i);
    for (std::int64_t row = 0; row < table.n_rows; ++row) {
        const std::int64_t k = table.classes[row];
        counts[k * arity + value_of(codes[row], arity)] += weight_of<Count>(weights, row);
    }
}

template <class Count>
MarginSums sum_margins(const FixedLog& log, double total, const Count* margins,
                       std::span<const std::int32_t> arities, std::span<const std::int32_t> n_known,
                       std::int32_t n_classes) {
    const std::size_t d = arities.size();
    const auto n_k = static_cast<std::size_t>(n_classes);
    MarginSums sums{std::vector<double>(d, 0.0), std::vector<std::int64_t>(d, 0),
                    std::vector<std::int64_t>(d * n_k, 0)};
    for (std::size_t i = 0; i < d; ++i) {
        const auto arity = static_cast<std::size_t>(arities[i]);
        const auto known = static_cast<std::size_t>(n_known[i]);
        std::vector<Count> values(known, Count{0});
        std::int64_t known_classes = 0;
        Count n_known_rows{0};
        for (std::size_t k = 0; k < n_k; ++k) {
            Count of_class{0};
            for (std::size_t v = 0; v < known; ++v) {
                const Count n = margins[k * arity + v];
                sums.class_feature[i] += log(n);
                values[v] += n;
                of_class += n;
                sums.n_seen[i * n_k + k] += n > 0;
            }
            known_classes += log(of_class);
            n_known_rows += of_class;
            for (std::size_t v = known; v < arity; ++v) of_class += margins[k * arity + v];
            if (i == 0) sums.classes += log(of_class);
        }
        std::int64_t sum = sums.class_feature[i];
        if (known == arity)
            sum += log(static_cast<Count>(total)) - sums.classes;
        else
            sum += log(n_known_rows) - known_classes;
        for (const Count n : values) sum -= log(n);
        sums.mutual[i] = information_in_nats(log, total, sum);
        margins += arity * n_k;
    }
    return sums;
}

template <class Count>
void scatter_pairs(const CodedTable& table, RowWeights weights, const Partners& pairs,
                   const std::vector<Count*>& tables) {
    const std::int32_t* codes = table.feature(pairs.feature);
    const std::int32_t arity = table.arity(pairs.feature);
    std::vector<std::int64_t> base(static_cast<std::size_t>(kBlockRows));
    for (std::int64_t begin = 0; begin < table.n_rows; begin += kBlockRows) {
        poll_interrupt();
        const std::int64_t length = std::min(kBlockRows, table.n_rows - begin);
        for (std::int64_t r = 0; r < length; ++r) {
            const std::int64_t k = table.classes[begin + r];
            base[static_cast<std::size_t>(r)] = k * arity + value_of(codes[begin + r], arity);
        }
        for (std::size_t o = 0; o < pairs.others.size(); ++o) {
            const std::int32_t* others = table.feature(pairs.others[o]) + begin;
            const std::int32_t width = table.arity(pairs.others[o]);
            Count* counts = tables[o];
            for (std::int64_t r = 0; r < length; ++r) {
                add_count(
                    counts[base[static_cast<std::size_t>(r)] * width + value_of(others[r], width)],
                    weight_of<Count>(weights, begin + r));
            }
        }
    }
}

template <class Count>
std::vector<std::int64_t> sum_grouped_pairs(const CodedTable& table, RowWeights weights,
                                            const RowOrder& order, const Partners& pairs,
                                            const FixedLog& log) {
    Groups groups(table.arity(pairs.feature));
    std::int32_t widest = 0;
    for (const auto j : pairs.others) widest = std::max(widest, table.arity(j));
    std::vector<Count> counts(static_cast<std::size_t>(widest), Count{0});
    std::vector<std::int64_t> sums(pairs.others.size(), 0);
    for (std::size_t k = 0; k + 1 < order.class_begin.size(); ++k) {
        groups.group(table.feature(pairs.feature), table.arity(pairs.feature),
                     order.rows.data() + order.class_begin[k],
                     order.rows.data() + order.class_begin[k + 1]);
        for (std::size_t o = 0; o < pairs.others.size(); ++o) {
            poll_interrupt();
            const std::int64_t j = pairs.others[o];
            sums[o] += sum_groups(groups, table.feature(j), table.arity(j), weights, log, counts);
        }
    }
    return sums;
}

template Margins<std::int64_t> make_margins(const CodedTable&);
template Margins<double> make_margins(const CodedTable&);
template void count_margin(const CodedTable&, RowWeights, std::int64_t, std::int64_t*);
template void count_margin(const CodedTable&, RowWeights, std::int64_t, double*);
template MarginSums sum_margins(const FixedLog&, double, const std::int64_t*,
                                std::span<const std::int32_t>, std::span<const std::int32_t>,
                                std::int32_t);
template MarginSums sum_margins(const FixedLog&, double, const double*,
                                std::span<const std::int32_t>, std::span<const std::int32_t>,
                                std::int32_t);
template void scatter_pairs(const CodedTable&, RowWeights, const Partners&,
                            const std::vector<std::int64_t*>&);
template void scatter_pairs(const CodedTable&, RowWeights, const Partners&,
                            const std::vector<double*>&);
template std::vector<std::int64_t> sum_grouped_pairs<std::int64_t>(const CodedTable&, RowWeights,
                                                                   const RowOrder&, const Partners&,
                                                                   const FixedLog&);
template std::vector<std::int64_t> sum_grouped_pairs<double>(const CodedTable&, RowWeights,
                                                             const RowOrder&, const Partners&,
                                                             const FixedLog&);

}  // namespace priorwise
