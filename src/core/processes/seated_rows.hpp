// Rows seated at the nodes of a tree, the state of a Gibbs sampler, and draws of the nodes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/rng.hpp"
#include "processes/process.hpp"

namespace priorwise {

// kDiscounted is false where all discounts are zero and stay so.
template <bool kDiscounted>
struct SeatedRows {
    // Whole pseudo-counts nearest to the given ones that fit the rows.
    SeatedRows(const ProcessModel& model_of_tree, ProcessState& start)
        : model(model_of_tree),
          tree(model.tree),
          state(start),
          n(tree.counts.size(), 0),
          t(tree.counts.size(), 0),
          total(tree.parent.size(), 0),
          opened(kDiscounted ? 0 : static_cast<std::size_t>(model.n_groups), 0.0),
          tables(kDiscounted ? total.size() : 0, 0) {
        const auto ending = count_ending_rows(tree);
        for (std::size_t cell = 0; cell < n.size(); ++cell) n[cell] = std::llround(ending[cell]);
        for (std::int32_t node = tree.n_nodes() - 1; node >= 0; --node)
            for (auto cell = tree.row_start[node]; cell < tree.row_start[node + 1]; ++cell) {
                total[node] += n[cell];
                if (node == 0 || n[cell] == 0) continue;
                const auto most = static_cast<double>(n[cell]);
                // NaN becomes one.
                t[cell] = std::llround(std::min(std::max(1.0, state.passed[cell]), most));
                n[tree.parent_cell[cell]] += t[cell];
                add_tables(node, t[cell]);
            }
        const auto leaf = find_leaves(tree);
        for (std::int32_t node = 1; node < tree.n_nodes(); ++node)
            (leaf[node] && !kDiscounted ? leaves : inner).push_back(node);
    }

    double concentration(std::int32_t node) const {
        return node == 0 ? model.root_concentration : state.concentration[model.group[node]];
    }

    double discount(std::int32_t node) const {
        if constexpr (!kDiscounted) return 0.0;
        return node == 0 ? 0.0 : state.discount[model.group[node]];
    }

    // c + a T, the share of a node's rows that its parent's estimate has, in rows; with `without`
    // fewer tables.
    double shared(std::int32_t node, std::int64_t without = 0) const {
        const double c = concentration(node);
        if constexpr (kDiscounted)
            return c + discount(node) * static_cast<double>(tables[node] - without);
        return c;
    }

    // n - a t, the share of its own rows.
    double kept(std::int32_t node, std::int64_t cell) const {
        const auto rows = static_cast<double>(n[cell]);
        if constexpr (kDiscounted) return rows - discount(node) * static_cast<double>(t[cell]);
        return rows;
    }

    void change_passed(std::int32_t node, std::int32_t cell, std::int64_t change) {
        t[cell] += change;
        n[tree.parent_cell[cell]] += change;
        total[tree.parent[node]] += change;
        add_tables(node, change);
    }

    const ProcessModel& model;
    const TreeView& tree;
    ProcessState& state;
    std::vector<std::int64_t> n;      // per cell: rows, or what the children passed
    std::vector<std::int64_t> t;      // per cell: passed to the parent
    std::vector<std::int64_t> total;  // N, per node
    // Without discounts, per group: sum of T. Whole numbers, which many levels may take beyond
    // 2^63.
    std::vector<double> opened;
    std::vector<std::int64_t> tables;  // with discounts: T, per node

    // The order in which nodes are sampled: without discounts the leaves first, whose rows never
    // change; with discounts all nodes below the root count as inner ones.
    std::vector<std::int32_t> leaves, inner;

  private:
    void add_tables(std::int32_t node, std::int64_t change) {
        if constexpr (kDiscounted) {
            tables[node] += change;
        } else {
            opened[model.group[node]] += static_cast<double>(change);
        }
    }
};

// A draw of one node's probabilities, given its parent's draw and its pseudo-counts.
// Outcomes that a sparse row does not list are one component.
class NodeDraw {
  public:
    // Start a node with one outcome after the other: its rows n - a t, and what the parent gives.
    void clear() {
        rows_.clear();
        base_.clear();
        listed_ = 0.0;
    }
    void add(double rows, double base) {
        rows_.push_back(rows);
        base_.push_back(base);
        listed_ += base;
    }
    // All outcomes are added; some_unlisted: the row is sparse.
    void close(bool some_unlisted) {
        base_.push_back(some_unlisted ? std::max(0.0, 1.0 - listed_) : 0.0);
    }

    // phi ~ Dirichlet(rows + c base).
    void draw_dirichlet(Rng& rng, double c, std::span<double> phi) const {
        double largest = -1e300;
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            phi[k] = rng.log_gamma(std::max(rows_[k] + c * base_[k], 1e-300));
            largest = std::max(largest, phi[k]);
        }
        double sum = 0.0;
        if (base_.back() > 0.0) {
            const double unlisted = rng.log_gamma(c * base_.back());
            largest = std::max(largest, unlisted);
            sum = std::exp(unlisted - largest);
        }
        for (auto& p : phi) sum += p = std::exp(p - largest);
        for (auto& p : phi) p /= sum;
    }

    // A Dirichlet distribution over rows and what is left, which is a Pitman-Yor process of the
    // given strength and discount a around base.
    void draw_pitman_yor(Rng& rng, double strength, double a, std::span<double> phi) {
        draw_process(rng, strength, a);
        for (std::size_t k = 0; k < rows_.size(); ++k)
            weight_[k] = rows_[k] > 0.0 ? rng.log_gamma(rows_[k]) : -1e300;
        weight_.back() = rng.log_gamma(std::max(strength, 1e-300));
        const double sum = exponentiate_weights();
        for (std::size_t k = 0; k < phi.size(); ++k)
            phi[k] = (weight_[k] + weight_.back() * process_[k]) / sum;
    }

  private:
    // Sticks of a Pitman-Yor process that are broken one by one; the rest is a Dirichlet
    // distribution of the same mean and variance.
    static constexpr int kSticks = 48;

    // process_ becomes a draw from the Pitman-Yor process around base_.
    void draw_process(Rng& rng, double strength, double a) {
        process_.assign(base_.size(), 0.0);
        weight_.resize(base_.size());
        double left = 1.0;
        double b = strength;
        if (a > 0.0) {
            for (int stick = 0; stick < kSticks; ++stick, b += a) {
                const double broken = std::exp(rng.log_gamma(1.0 - a));
                const double rest = std::exp(rng.log_gamma(b + a));
                const double share = broken / (broken + rest);
                process_[choose_outcome(rng)] += left * share;
                left *= 1.0 - share;
            }
            b = (b + a) / (1.0 - a);
        }
        for (std::size_t k = 0; k < base_.size(); ++k)
            weight_[k] = base_[k] > 0.0 ? rng.log_gamma(std::max(b * base_[k], 1e-300)) : -1e301;
        const double sum = exponentiate_weights();
        for (std::size_t k = 0; k < base_.size(); ++k) process_[k] += left * weight_[k] / sum;
    }

    std::size_t choose_outcome(Rng& rng) const {
        double sum = 0.0;
        for (const double p : base_) sum += p;
        double place = rng.uniform() * sum;
        std::size_t k = 0;
        while (k + 1 < base_.size() && place >= base_[k]) place -= base_[k++];
        return k;
    }

    // Turn logarithms into numbers, of which the largest is one; returns their sum.
    double exponentiate_weights() {
        const double largest = *std::ranges::max_element(weight_);
        double sum = 0.0;
        for (auto& weight : weight_) sum += weight = std::exp(weight - largest);
        return sum;
    }

    std::vector<double> rows_, base_;  // base_ has one more entry: all that the row does not list
    std::vector<double> process_, weight_;
    double listed_ = 0.0;
};

}  // namespace priorwise
