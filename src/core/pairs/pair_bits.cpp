// Pair counts over bit planes: a matrix product whose multiply is AND and whose sum is popcount.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "common/parallel.hpp"
#include "pairs/bit_slices.hpp"
#include "pairs/pair_tasks.hpp"

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

}  // namespace priorwise
