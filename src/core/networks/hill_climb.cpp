#include "networks/arc_searches.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "common/interrupt.hpp"
#include "common/parallel.hpp"
#include "common/special.hpp"

namespace priorwise {
namespace {

constexpr double kLeastGain = 1e-9;
constexpr std::int64_t kLeastTable = 1 << 16;
constexpr double kNone = -std::numeric_limits<double>::infinity();

// Sums over the cells of a family, context by context.
class FamilyScore {
  public:
    FamilyScore(const GraphSearch& search, double n_contexts, std::int32_t n_states)
        : search_(search),
          context_prior_(search.prior_rows / n_contexts),
          cell_prior_(search.prior_rows / n_contexts / n_states) {
        if (search.score == GraphScore::kBdeu) {
            context_zero_ = log_gamma(context_prior_);
            cell_zero_ = log_gamma(cell_prior_);
        }
    }

    void add_cell(double n) {
        if (n <= 0.0) return;
        total_ += n;
        sum_ += search_.score == GraphScore::kBic ? n * std::log(n)
                                                  : log_gamma(cell_prior_ + n) - cell_zero_;
    }

    void end_context() {
        if (total_ > 0.0)
            sum_ -= search_.score == GraphScore::kBic
                        ? total_ * std::log(total_)
                        : log_gamma(context_prior_ + total_) - context_zero_;
        total_ = 0.0;
    }

    double sum() const { return sum_; }

  private:
    const GraphSearch& search_;
    double context_prior_;
    double cell_prior_;
    double context_zero_ = 0.0;
    double cell_zero_ = 0.0;
    double total_ = 0.0;
    double sum_ = 0.0;
};

double total_weight(const GraphSearch& search) {
    if (search.weight == nullptr) return static_cast<double>(search.n_rows);
    double total = 0.0;
    for (std::int64_t row = 0; row < search.n_rows; ++row) total += search.weight[row];
    return total;
}

// Numbers the contexts that occur, so that keys of many parents stay small.
void renumber(std::vector<std::int64_t>& key) {
    std::vector<std::int64_t> distinct(key);
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (auto& k : key) k = std::ranges::lower_bound(distinct, k) - distinct.begin();
}

// The score of one family; the order of the parents does not matter.
double score_family(const GraphSearch& search, std::int32_t child,
                    std::span<const std::int32_t> parents) {
    const std::int32_t n_states = search.arity[child];
    double n_contexts = 1.0;
    std::vector<std::int64_t> key(static_cast<std::size_t>(search.n_rows), 0);
    std::int64_t n_keys = 1;
    const std::int64_t most = std::max<std::int64_t>(kLeastTable, 4 * search.n_rows);
    for (const auto parent : parents) {
        const std::int64_t arity = search.arity[parent];
        n_contexts *= static_cast<double>(arity);
        const auto* codes = search.columns[parent];
        for (std::size_t row = 0; row < key.size(); ++row) key[row] = key[row] * arity + codes[row];
        n_keys *= arity;
        if (n_keys > most / n_states) {
            renumber(key);
            n_keys = key.empty() ? 1 : *std::ranges::max_element(key) + 1;
        }
    }
    FamilyScore score(search, n_contexts, n_states);
    const auto* codes = search.columns[child];
    if (n_keys <= most / n_states) {
        std::vector<double> cells(static_cast<std::size_t>(n_keys * n_states), 0.0);
        for (std::size_t row = 0; row < key.size(); ++row)
            cells[static_cast<std::size_t>(key[row] * n_states + codes[row])] +=
                search.weight == nullptr ? 1.0 : search.weight[row];
        for (std::size_t cell = 0; cell < cells.size();) {
            for (std::int32_t k = 0; k < n_states; ++k) score.add_cell(cells[cell++]);
            score.end_context();
        }
    } else {
        // Too many cells for a table: rows in the order of their cells.
        std::vector<std::pair<std::int64_t, double>> rows(key.size());
        for (std::size_t row = 0; row < key.size(); ++row)
            rows[row] = {key[row] * n_states + codes[row],
                         search.weight == nullptr ? 1.0 : search.weight[row]};
        std::ranges::stable_sort(rows, {}, &std::pair<std::int64_t, double>::first);
        double n = 0.0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            n += rows[i].second;
            const bool last = i + 1 == rows.size();
            if (!last && rows[i + 1].first == rows[i].first) continue;
            score.add_cell(n);
            n = 0.0;
            if (last || rows[i + 1].first / n_states != rows[i].first / n_states)
                score.end_context();
        }
    }
    if (search.score == GraphScore::kBdeu) return score.sum();
    return score.sum() -
           0.5 * std::log(std::max(1.0, total_weight(search))) * n_contexts * (n_states - 1);
}

class HillClimber {
  public:
    explicit HillClimber(const GraphSearch& search)
        : search_(search),
          n_(static_cast<std::int32_t>(search.columns.size())),
          parents_(search.columns.size()),
          current_(search.columns.size()),
          gain_(search.columns.size() * search.columns.size(), kNone) {}

    std::vector<std::vector<std::int32_t>> climb() {
        for (std::int32_t child = 0; child < n_; ++child) measure(child);
        find_descendants();
        double score = 0.0;
        double best_score = 0.0;
        auto best = parents_;
        std::deque<std::pair<std::int32_t, std::int32_t>> tabu;
        for (std::int32_t without_best = 0; without_best <= search_.n_tabu;) {
            poll_interrupt();
            const Step step = find_step(tabu, best_score - score);
            if (step.kind == Kind::kNone || (search_.n_tabu == 0 && step.gain <= kLeastGain)) break;
            apply(step);
            score += step.gain;
            tabu.emplace_back(std::min(step.child, step.parent), std::max(step.child, step.parent));
            if (tabu.size() > static_cast<std::size_t>(search_.n_tabu)) tabu.pop_front();
            ++without_best;
            if (score > best_score + kLeastGain) {
                best_score = score;
                best = parents_;
                without_best = 0;
            }
        }
        return best;
    }

  private:
    enum class Kind { kNone, kToggle, kReverse };
    struct Step {
        Kind kind = Kind::kNone;
        std::int32_t child = 0;
        std::int32_t parent = 0;
        double gain = kNone;
    };

    double& gain(std::int32_t child, std::int32_t parent) {
        return gain_[static_cast<std::size_t>(child) * parents_.size() +
                     static_cast<std::size_t>(parent)];
    }

    bool has_parent(std::int32_t child, std::int32_t parent) const {
        return std::ranges::binary_search(parents_[child], parent);
    }

    bool reaches(std::int32_t from, std::int32_t to) const {
        return reach_[static_cast<std::size_t>(from) * parents_.size() +
                      static_cast<std::size_t>(to)] != 0;
    }

    std::vector<std::int32_t> toggled(std::int32_t child, std::int32_t parent) const {
        auto own = parents_[child];
        const auto at = std::ranges::lower_bound(own, parent);
        if (at != own.end() && *at == parent)
            own.erase(at);
        else
            own.insert(at, parent);
        return own;
    }

    // What adding or removing each parent of a child would add to the score.
    void measure(std::int32_t child) {
        current_[child] = score_family(search_, child, parents_[child]);
        parallel_for(n_, search_.n_threads, [&](std::int64_t piece) {
            const auto parent = static_cast<std::int32_t>(piece);
            if (parent == child) return;
            const auto own = toggled(child, parent);
            gain(child, parent) = std::cmp_greater(own.size(), search_.max_parents)
                                      ? kNone
                                      : score_family(search_, child, own) - current_[child];
        });
    }

    // Variables that can be reached along arcs, each from itself too.
    void find_descendants() {
        const auto n = parents_.size();
        reach_.assign(n * n, 0);
        std::vector<std::vector<std::int32_t>> children(n);
        for (std::size_t i = 0; i < n; ++i)
            for (const auto parent : parents_[i])
                children[parent].push_back(static_cast<std::int32_t>(i));
        std::vector<std::int32_t> waiting;
        for (std::size_t from = 0; from < n; ++from) {
            waiting.assign(1, static_cast<std::int32_t>(from));
            while (!waiting.empty()) {
                const auto one = waiting.back();
                waiting.pop_back();
                auto& seen = reach_[from * n + static_cast<std::size_t>(one)];
                if (seen) continue;
                seen = 1;
                waiting.insert(waiting.end(), children[one].begin(), children[one].end());
            }
        }
    }

    // Whether a path leads from parent to child besides the arc between them.
    bool has_detour(std::int32_t parent, std::int32_t child) const {
        for (const auto last : parents_[child])
            if (last != parent && reaches(parent, last)) return true;
        return false;
    }

    Step find_step(const std::deque<std::pair<std::int32_t, std::int32_t>>& tabu,
                   double gain_of_best) {
        Step best;
        for (std::int32_t child = 0; child < n_; ++child)
            for (std::int32_t parent = 0; parent < n_; ++parent) {
                const double change = gain(child, parent);
                if (parent == child || change == kNone) continue;
                const std::pair pair(std::min(child, parent), std::max(child, parent));
                const bool is_tabu = std::ranges::find(tabu, pair) != tabu.end();
                const auto consider = [&](Kind kind, double gain_of_step) {
                    if (gain_of_step <= best.gain + kLeastGain) return;
                    if (is_tabu && gain_of_step <= gain_of_best + kLeastGain) return;
                    best = {kind, child, parent, gain_of_step};
                };
                if (!has_parent(child, parent)) {
                    if (!reaches(child, parent)) consider(Kind::kToggle, change);
                    continue;
                }
                consider(Kind::kToggle, change);
                const double back = gain(parent, child);
                if (back != kNone && !has_detour(parent, child))
                    consider(Kind::kReverse, change + back);
            }
        return best;
    }

    void apply(const Step& step) {
        parents_[step.child] = toggled(step.child, step.parent);
        if (step.kind == Kind::kReverse) parents_[step.parent] = toggled(step.parent, step.child);
        measure(step.child);
        if (step.kind == Kind::kReverse) measure(step.parent);
        find_descendants();
    }

    const GraphSearch& search_;
    std::int32_t n_;
    std::vector<std::vector<std::int32_t>> parents_;
    std::vector<double> current_;
    std::vector<double> gain_;  // child by parent; kNone where no parent may be added
    std::vector<char> reach_;
};

}  // namespace

std::vector<std::vector<std::int32_t>> climb_hill(const GraphSearch& search) {
    return HillClimber(search).climb();
}

}  // namespace priorwise
