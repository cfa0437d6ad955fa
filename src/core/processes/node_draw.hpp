// A draw of one node's probabilities, given its parent's draw and its pseudo-counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "common/rng.hpp"

namespace priorwise {

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
