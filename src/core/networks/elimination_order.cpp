// Greedy orders of elimination.
#include <algorithm>
#include <bit>
#include <cmath>

#include "networks/elimination.hpp"

namespace priorwise {
namespace {

// An order that costs less than this many cells is not searched for a better one.
constexpr double kCheapOrder = 4096.0;

// A graph as a matrix of bits.
class Graph {
  public:
    explicit Graph(std::size_t n) : n_words_((n + 63) / 64), bits_(n * n_words_) {}

    std::uint64_t* row(std::size_t i) { return bits_.data() + i * n_words_; }
    const std::uint64_t* row(std::size_t i) const { return bits_.data() + i * n_words_; }
    std::size_t n_words() const { return n_words_; }

    void connect(std::size_t a, std::size_t b) {
        if (a != b) row(a)[b / 64] |= std::uint64_t{1} << (b % 64);
    }
    void disconnect(std::size_t a, std::size_t b) {
        row(a)[b / 64] &= ~(std::uint64_t{1} << (b % 64));
    }

    template <class Visit>
    void each_neighbour(std::size_t i, Visit&& visit) const {
        for (std::size_t w = 0; w < n_words_; ++w)
            for (auto word = row(i)[w]; word; word &= word - 1)
                visit(64 * w + static_cast<std::size_t>(std::countr_zero(word)));
    }

  private:
    std::size_t n_words_;
    std::vector<std::uint64_t> bits_;
};

class Search {
  public:
    Search(Graph graph, std::span<const std::int32_t> arity, bool by_fill)
        : graph_(std::move(graph)), arity_(arity), by_fill_(by_fill), score_(arity.size()) {}

    EliminationOrder run(std::span<const std::vector<std::int32_t>> groups) {
        EliminationOrder order;
        for (const auto& group : groups) {
            std::vector<std::int32_t> left = group;
            waiting_.assign(arity_.size(), false);
            for (const auto i : left) {
                waiting_[i] = true;
                score_[i] = score(i);
            }
            while (!left.empty()) {
                poll_interrupt();
                auto best = left.begin();
                for (auto i = left.begin(); i != left.end(); ++i)
                    if (score_[*i] < score_[*best]) best = i;
                const auto chosen = *best;
                left.erase(best);
                eliminate(chosen, order);
            }
        }
        return order;
    }

  private:
    struct Score {
        double first, second;
        auto operator<=>(const Score&) const = default;
    };

    double count_cells(std::size_t i) const {
        double cells = arity_[i];
        graph_.each_neighbour(i, [&](std::size_t j) { cells *= arity_[j]; });
        return cells;
    }

    Score score(std::size_t i) const {
        const double cells = count_cells(i);
        if (!by_fill_) return {cells, 0.0};
        std::int64_t n_missing = 0;
        graph_.each_neighbour(i, [&](std::size_t j) {
            for (std::size_t w = 0; w < graph_.n_words(); ++w)
                n_missing += std::popcount(graph_.row(i)[w] & ~graph_.row(j)[w]);
            --n_missing;  // j itself
        });
        return {static_cast<double>(n_missing), cells};
    }

    void eliminate(std::int32_t i, EliminationOrder& order) {
        order.variables.push_back(i);
        order.cost += count_cells(i);
        waiting_[i] = false;
        around_.clear();
        graph_.each_neighbour(i, [&](std::size_t j) { around_.push_back(j); });
        order.width = std::max(order.width, around_.size());
        for (const auto j : around_) {
            for (std::size_t w = 0; w < graph_.n_words(); ++w) graph_.row(j)[w] |= graph_.row(i)[w];
            graph_.disconnect(j, j);
            graph_.disconnect(j, i);
        }
        std::vector<bool> changed(arity_.size());
        for (const auto j : around_) {
            changed[j] = true;
            if (by_fill_) graph_.each_neighbour(j, [&](std::size_t k) { changed[k] = true; });
        }
        for (std::size_t j = 0; j < changed.size(); ++j)
            if (changed[j] && waiting_[j]) score_[j] = score(j);
    }

    Graph graph_;
    std::span<const std::int32_t> arity_;
    bool by_fill_;
    std::vector<Score> score_;
    std::vector<bool> waiting_;
    std::vector<std::size_t> around_;
};

}  // namespace

EliminationOrder find_elimination_order(std::span<const std::vector<std::int32_t>> scopes,
                                        std::span<const std::int32_t> arity,
                                        std::span<const std::vector<std::int32_t>> groups) {
    Graph graph(arity.size());
    for (const auto& scope : scopes)
        for (const auto a : scope)
            for (const auto b : scope) graph.connect(a, b);
    auto order = Search(graph, arity, true).run(groups);
    if (order.cost > kCheapOrder) {
        auto other = Search(std::move(graph), arity, false).run(groups);
        if (other.cost < order.cost) order = std::move(other);
    }
    return order;
}

}  // namespace priorwise
