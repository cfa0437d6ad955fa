// Exact inference in a Bayesian network by elimination of variables.
//
// Variables that are neither asked for nor evidence nor ancestors of these sum to one and are left
// out, and so are those that evidence separates from what is asked for. The tables that are left
// are cut to the evidence. Variables are eliminated one by one: all tables over one of them are
// multiplied, and it is summed out or maximised. The order is greedy: next comes the variable that
// connects the fewest pairs of neighbours, or the one with the smallest product, whichever order
// costs less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/interrupt.hpp"

namespace priorwise {

// The tables of a network: for each variable one axis per parent, then one for its states.
struct NetworkTables {
    std::vector<std::int32_t> arity;
    std::vector<std::vector<std::int32_t>> parents;
    std::vector<std::vector<double>> tables;
};

// What is done with the targets. All other variables are summed out first.
enum class Goal {
    kKeep,      // they are the axes of the result
    kSum,       // they are summed out; afterwards marginals and draws can be had
    kMaximise,  // they are maximised; afterwards their most probable states can be had
};

// A product of tables, out of which one variable is taken.
struct Product {
    std::int32_t variable = -1;  // -1: none
    bool maximised = false;
    bool depends = false;             // on the states of the evidence
    std::vector<std::int32_t> scope;  // what is left, the last varying fastest
    std::vector<std::int32_t> size;   // number of states of each
    std::vector<std::int32_t> inputs;
    std::vector<std::int64_t> stride;  // of each input at each place of the scope: [place][input]
    std::vector<std::int64_t> own;     // of each input for the variable
    std::int32_t n_states = 1;         // of the variable
    std::size_t n_cells = 1;           // of the result
};

class Elimination {
  public:
    // Throws std::invalid_argument if tables of more than max_cells cells in all would be needed.
    Elimination(const NetworkTables& tables, std::span<const std::int32_t> evidence,
                std::span<const std::int32_t> targets, Goal goal, double max_cells);

    // Intermediate tables for some states of the evidence.
    struct Run {
        std::vector<const double*> slots;  // tables of variables, then results of products
        std::vector<std::vector<double>> results;
        std::vector<std::vector<double>> adjoints;
        std::vector<const double*> at;
        std::vector<std::int32_t> index;
        double log_scale = 0.0;   // of the evidence, or of the maximum
        bool is_possible = true;  // whether the evidence has a probability above zero
        WorkPoll poll;
    };

    // A run in which everything is computed that does not depend on the states of the evidence.
    Run prepare() const;

    // Eliminate for one row of states of the evidence. The run uses tables of the one prepared,
    // which must live longer.
    void run(Run& run, const Run& prepared, const std::int32_t* states) const;

    // Number of cells of the joint table of the targets, 1 unless they are kept.
    std::size_t n_joint() const { return joint_.n_cells; }
    // The joint table, which has to be multiplied by exp(log_scale).
    void read_joint(Run& run, double* joint) const;

    // After kSum: the distribution of each variable that was summed out.
    void add_marginals(Run& run, std::vector<std::vector<double>>& marginals) const;

    // After kSum: draw the variables that were summed out, each by one uniform number. After
    // kMaximise: find the best states of the targets. `states` is by variable.
    void draw(Run& run, const double* uniform, std::int32_t* states) const;
    void find_best(Run& run, std::int32_t* states) const;

    double n_cells() const { return n_cells_; }

  private:
    struct Slot {
        std::vector<std::int32_t> scope;
        std::vector<std::int64_t> stride;
        bool depends = false;
    };
    struct Cut {  // a table that is used, and where the evidence cuts it
        std::int32_t slot;
        const double* begin;
        std::vector<std::int32_t> place;  // among the evidence
        std::vector<std::int64_t> stride;
    };

    void add_product(std::int32_t variable, bool maximised, const std::vector<std::int32_t>& inputs,
                     const std::vector<std::int32_t>& scope);
    Product make_product(std::int32_t variable, bool maximised,
                         const std::vector<std::int32_t>& inputs,
                         const std::vector<std::int32_t>& scope) const;
    void compute(const Product& product, Run& run, double* out) const;
    void compute(std::size_t place, Run& run) const;
    const std::vector<double>& weigh(const Product& product, Run& run, const std::int32_t* states,
                                     std::vector<double>& weights) const;

    const NetworkTables& tables_;
    std::vector<Slot> slots_;  // of the tables in use, then of the products
    std::vector<Cut> cuts_;
    std::vector<Product> products_;
    Product joint_;                      // of what is left in the end; its scope are the targets
    std::vector<std::int32_t> scalars_;  // what is left without a variable
    double n_cells_ = 1.0;
};

// An order of elimination of the vertices in `groups`, group by group, and its cost: the cells of
// all products.
struct EliminationOrder {
    std::vector<std::int32_t> variables;
    double cost = 0.0;
    std::size_t width = 0;  // most variables in a product, less one
};

// `scopes` are the sets of variables, of n, that tables have in common.
EliminationOrder find_elimination_order(std::span<const std::vector<std::int32_t>> scopes,
                                        std::span<const std::int32_t> arity,
                                        std::span<const std::vector<std::int32_t>> groups);

}  // namespace priorwise
