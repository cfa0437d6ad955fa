#include "networks/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "common/require.hpp"

namespace priorwise {
namespace {

// A table whose largest cell is below this is multiplied by a power of two, which is exact.
constexpr double kLeastScale = 0x1p-200;

std::vector<bool> find_ancestors(const NetworkTables& tables,
                                 std::span<const std::int32_t> evidence,
                                 std::span<const std::int32_t> targets) {
    std::vector<bool> reached(tables.arity.size());
    std::vector<std::int32_t> waiting(evidence.begin(), evidence.end());
    waiting.insert(waiting.end(), targets.begin(), targets.end());
    while (!waiting.empty()) {
        const auto i = waiting.back();
        waiting.pop_back();
        if (reached[i]) continue;
        reached[i] = true;
        waiting.insert(waiting.end(), tables.parents[i].begin(), tables.parents[i].end());
    }
    return reached;
}

// The variables that tables connect with the targets; all if there are none.
std::vector<bool> find_connected(const std::vector<std::vector<std::int32_t>>& scopes,
                                 std::size_t n_variables, std::span<const std::int32_t> targets) {
    std::vector<bool> reached(n_variables, targets.empty());
    if (targets.empty()) return reached;
    std::vector<std::vector<std::int32_t>> of_variable(n_variables);
    for (std::size_t s = 0; s < scopes.size(); ++s)
        for (const auto i : scopes[s]) of_variable[i].push_back(static_cast<std::int32_t>(s));
    std::vector<std::int32_t> waiting(targets.begin(), targets.end());
    while (!waiting.empty()) {
        const auto i = waiting.back();
        waiting.pop_back();
        if (reached[i]) continue;
        reached[i] = true;
        for (const auto s : of_variable[i])
            waiting.insert(waiting.end(), scopes[s].begin(), scopes[s].end());
    }
    return reached;
}

// Multiply a table by a power of two if it is small; the logarithm of its inverse is returned.
// Its largest cell is zero if nothing is possible.
double rescale(std::span<double> table, double largest) {
    if (largest >= kLeastScale || largest == 0.0) return 0.0;
    int exponent = 0;
    std::frexp(largest, &exponent);
    for (auto& cell : table) cell = std::ldexp(cell, -exponent);
    return exponent * std::numbers::ln2;
}

// Visit the cells of the result of a product in their order; at[j] is then the first of the cells
// of input j over the variable that is taken out.
template <class Visit>
void walk(const Product& product, std::vector<const double*>& at, std::vector<std::int32_t>& index,
          WorkPoll& poll, Visit&& visit) {
    const auto m = product.inputs.size();
    const auto n_steps = static_cast<std::int64_t>(m) * product.n_states;
    index.assign(product.scope.size(), 0);
    for (std::size_t cell = 0;; ++cell) {
        visit(cell);
        if (cell + 1 == product.n_cells) return;
        poll.add(n_steps);
        auto d = index.size() - 1;
        for (; ++index[d] == product.size[d]; --d) {
            index[d] = 0;
            for (std::size_t j = 0; j < m; ++j)
                at[j] -= product.stride[d * m + j] * (product.size[d] - 1);
        }
        for (std::size_t j = 0; j < m; ++j) at[j] += product.stride[d * m + j];
    }
}

}  // namespace

Elimination::Elimination(const NetworkTables& tables, std::span<const std::int32_t> evidence,
                         std::span<const std::int32_t> targets, Goal goal, double max_cells)
    : tables_(tables) {
    const auto n = tables.arity.size();
    std::vector<std::int32_t> place(n, -1);  // among the evidence
    for (std::size_t e = 0; e < evidence.size(); ++e)
        place[evidence[e]] = static_cast<std::int32_t>(e);
    const auto relevant = find_ancestors(tables, evidence, targets);
    std::vector<std::vector<std::int32_t>> scopes;
    for (std::size_t i = 0; i < n; ++i) {
        if (!relevant[i]) continue;
        auto family = tables.parents[i];
        family.push_back(static_cast<std::int32_t>(i));
        Slot slot;
        Cut cut{static_cast<std::int32_t>(slots_.size()), tables.tables[i].data(), {}, {}};
        auto stride = static_cast<std::int64_t>(tables.tables[i].size());
        for (const auto j : family) {
            stride /= tables.arity[j];
            if (place[j] < 0) {
                slot.scope.push_back(j);
                slot.stride.push_back(stride);
            } else {
                cut.place.push_back(place[j]);
                cut.stride.push_back(stride);
            }
        }
        slot.depends = !cut.place.empty();
        scopes.push_back(slot.scope);
        slots_.push_back(std::move(slot));
        cuts_.push_back(std::move(cut));
    }
    const auto connected = find_connected(scopes, n, targets);
    std::vector<bool> is_target(n);
    for (const auto i : targets) is_target[i] = true;
    const bool targets_last = goal != Goal::kSum;
    std::vector<std::vector<std::int32_t>> groups(2);
    for (std::size_t i = 0; i < n; ++i)
        if (relevant[i] && place[i] < 0 && connected[i])
            groups[targets_last && is_target[i]].push_back(static_cast<std::int32_t>(i));
    const auto n_summed = groups[0].size();
    if (goal == Goal::kKeep) groups.pop_back();
    const auto order = find_elimination_order(scopes, tables.arity, groups);
    // The table of each variable is used in the product that takes out the first of its variables.
    std::vector<std::size_t> position(n, n);
    for (std::size_t k = 0; k < order.variables.size(); ++k) position[order.variables[k]] = k;
    for (std::size_t k = 0; k < targets.size() && goal == Goal::kKeep; ++k)
        position[targets[k]] = n + targets.size() - k;
    std::vector<std::vector<std::int32_t>> buckets(order.variables.size());
    std::vector<std::int32_t> rest;
    const auto put = [&](std::size_t s) {
        const auto& scope = slots_[s].scope;
        auto first = n;
        for (const auto i : scope) first = std::min(first, position[i]);
        if (first < buckets.size())
            buckets[first].push_back(static_cast<std::int32_t>(s));
        else
            (scope.empty() ? scalars_ : rest).push_back(static_cast<std::int32_t>(s));
    };
    std::vector<Cut> used;
    for (std::size_t s = 0; s < scopes.size(); ++s) {
        // What only the evidence and variables apart depend on is a constant.
        const bool is_apart = scopes[s].empty() ? !targets.empty() : !connected[scopes[s][0]];
        if (is_apart) continue;
        put(s);
        used.push_back(std::move(cuts_[s]));
    }
    cuts_ = std::move(used);
    std::vector<double> held(buckets.size());
    for (std::size_t k = 0; k < buckets.size(); ++k) {
        std::vector<std::int32_t> scope;
        for (const auto s : buckets[k])
            for (const auto i : slots_[s].scope)
                if (i != order.variables[k]) scope.push_back(i);
        std::sort(scope.begin(), scope.end(), [&](auto a, auto b) {
            return position[a] != position[b] ? position[a] > position[b] : a < b;
        });
        scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
        for (const auto i : scope) held[k] = (held[k] ? held[k] : 1.0) * tables.arity[i];
        n_cells_ += std::max(held[k], 1.0);
        require(n_cells_ <= max_cells, "exact inference needs tables of more than ", max_cells,
                " cells: the largest product of tables is over ", order.width + 1,
                " variables (a treewidth of ", order.width, ")");
        products_.push_back(make_product(order.variables[k], k >= n_summed, buckets[k], scope));
        const auto& made = products_.back();
        Slot slot{made.scope, {}, made.depends};
        auto stride = static_cast<std::int64_t>(made.n_cells);
        for (const auto size : made.size) slot.stride.push_back(stride /= size);
        slots_.push_back(std::move(slot));
        put(slots_.size() - 1);
    }
    std::vector<std::int32_t> kept;
    if (goal == Goal::kKeep) kept.assign(targets.begin(), targets.end());
    for (const auto i : kept) n_cells_ *= tables.arity[i];
    require(n_cells_ <= max_cells, "the joint table must have at most ", max_cells,
            " cells, got tables of ", n_cells_);
    joint_ = make_product(-1, false, rest, kept);
}

Product Elimination::make_product(std::int32_t variable, bool maximised,
                                  const std::vector<std::int32_t>& inputs,
                                  const std::vector<std::int32_t>& scope) const {
    Product made;
    made.variable = variable;
    made.maximised = maximised;
    made.scope = scope;
    made.inputs = inputs;
    made.n_states = variable < 0 ? 1 : tables_.arity[variable];
    for (const auto i : scope) {
        made.size.push_back(tables_.arity[i]);
        made.n_cells *= static_cast<std::size_t>(tables_.arity[i]);
    }
    const auto m = inputs.size();
    made.stride.resize(scope.size() * m);
    made.own.resize(m);
    for (std::size_t j = 0; j < m; ++j) {
        const auto& slot = slots_[inputs[j]];
        made.depends |= slot.depends;
        for (std::size_t a = 0; a < slot.scope.size(); ++a) {
            if (slot.scope[a] == variable) {
                made.own[j] = slot.stride[a];
                continue;
            }
            const auto d = std::find(scope.begin(), scope.end(), slot.scope[a]) - scope.begin();
            made.stride[static_cast<std::size_t>(d) * m + j] = slot.stride[a];
        }
    }
    return made;
}

Elimination::Run Elimination::prepare() const {
    Run run;
    run.slots.resize(slots_.size());
    run.results.resize(products_.size());
    for (const auto& cut : cuts_) run.slots[cut.slot] = cut.begin;
    for (std::size_t k = 0; k < products_.size(); ++k)
        if (!products_[k].depends && run.is_possible) compute(k, run);
    return run;
}

void Elimination::run(Run& run, const Run& prepared, const std::int32_t* states) const {
    run.slots = prepared.slots;
    run.results.resize(products_.size());
    run.log_scale = prepared.log_scale;
    run.is_possible = prepared.is_possible;
    for (const auto& cut : cuts_) {
        const auto* at = cut.begin;
        for (std::size_t a = 0; a < cut.place.size(); ++a)
            at += cut.stride[a] * states[cut.place[a]];
        run.slots[cut.slot] = at;
    }
    for (std::size_t k = 0; k < products_.size() && run.is_possible; ++k)
        if (products_[k].depends) compute(k, run);
    for (const auto s : scalars_) {
        if (!run.is_possible || *run.slots[s] == 0.0) {
            run.is_possible = false;
            return;
        }
        run.log_scale += std::log(*run.slots[s]);
    }
}

void Elimination::compute(std::size_t k, Run& run) const {
    const auto& product = products_[k];
    auto& result = run.results[k];
    result.resize(product.n_cells);
    compute(product, run, result.data());
    const double largest = *std::max_element(result.begin(), result.end());
    run.log_scale += rescale(result, largest);
    run.is_possible = largest > 0.0;
    run.slots[slots_.size() - products_.size() + k] = result.data();
}

void Elimination::compute(const Product& product, Run& run, double* out) const {
    const auto m = product.inputs.size();
    const auto n_states = product.n_states;
    run.at.resize(m);
    for (std::size_t j = 0; j < m; ++j) run.at[j] = run.slots[product.inputs[j]];
    const auto& at = run.at;
    const auto& own = product.own;
    const auto visit_all = [&](const auto& multiply) {
        walk(product, run.at, run.index, run.poll, [&](std::size_t cell) {
            double total = 0.0;
            if (product.maximised)
                for (std::int32_t v = 0; v < n_states; ++v) total = std::max(total, multiply(v));
            else
                for (std::int32_t v = 0; v < n_states; ++v) total += multiply(v);
            out[cell] = total;
        });
    };
    if (m == 1) {
        visit_all([&](std::int32_t v) { return at[0][v * own[0]]; });
    } else if (m == 2) {
        visit_all([&](std::int32_t v) { return at[0][v * own[0]] * at[1][v * own[1]]; });
    } else if (m == 3) {
        visit_all([&](std::int32_t v) {
            return at[0][v * own[0]] * at[1][v * own[1]] * at[2][v * own[2]];
        });
    } else {
        visit_all([&](std::int32_t v) {
            double value = 1.0;
            for (std::size_t j = 0; j < m; ++j) value *= at[j][v * own[j]];
            return value;
        });
    }
}

void Elimination::read_joint(Run& run, double* joint) const {
    compute(joint_, run, joint);
}

void Elimination::add_marginals(Run& run, std::vector<std::vector<double>>& marginals) const {
    const auto first = slots_.size() - products_.size();
    run.adjoints.resize(products_.size());
    for (const auto s : scalars_)
        if (std::cmp_greater_equal(s, first)) run.adjoints[s - first].assign(1, 1.0);
    // From the last product back to the first: the derivative of the probability of the evidence by
    // each cell of its result, times the product itself, is the joint with what was taken out.
    std::vector<double*> adjoint;
    std::vector<double> after;
    for (auto k = products_.size(); k-- > 0;) {
        const auto& product = products_[k];
        const auto m = product.inputs.size();
        adjoint.assign(m, nullptr);
        run.at.resize(m);
        for (std::size_t j = 0; j < m; ++j) {
            const auto s = static_cast<std::size_t>(product.inputs[j]);
            run.at[j] = run.slots[s];
            if (s < first) continue;
            run.adjoints[s - first].assign(products_[s - first].n_cells, 0.0);
            adjoint[j] = run.adjoints[s - first].data();
        }
        auto& marginal = marginals[product.variable];
        const auto& given = run.adjoints[k];
        after.resize(m + 1);
        after[m] = 1.0;
        walk(product, run.at, run.index, run.poll, [&](std::size_t cell) {
            if (given[cell] == 0.0) return;
            for (std::int32_t v = 0; v < product.n_states; ++v) {
                for (auto j = m; j-- > 0;) after[j] = after[j + 1] * run.at[j][v * product.own[j]];
                marginal[v] += given[cell] * after[0];
                double before = given[cell];
                for (std::size_t j = 0; j < m && before != 0.0; ++j) {
                    const auto* from = run.at[j] + v * product.own[j];
                    if (adjoint[j])
                        adjoint[j][from - run.slots[product.inputs[j]]] += before * after[j + 1];
                    before *= *from;
                }
            }
        });
        run.adjoints[k].clear();
        for (std::size_t j = 0; j < m; ++j) {
            if (!adjoint[j]) continue;
            auto& made = run.adjoints[static_cast<std::size_t>(product.inputs[j]) - first];
            rescale(made, *std::max_element(made.begin(), made.end()));
        }
        const double total = std::accumulate(marginal.begin(), marginal.end(), 0.0);
        for (auto& p : marginal) p /= total;
    }
}

const std::vector<double>& Elimination::weigh(const Product& product, Run& run,
                                              const std::int32_t* states,
                                              std::vector<double>& weights) const {
    const auto m = product.inputs.size();
    weights.assign(product.n_states, 1.0);
    for (std::size_t j = 0; j < m; ++j) {
        const auto* at = run.slots[product.inputs[j]];
        for (std::size_t d = 0; d < product.scope.size(); ++d)
            at += product.stride[d * m + j] * states[product.scope[d]];
        for (std::int32_t v = 0; v < product.n_states; ++v) weights[v] *= at[v * product.own[j]];
    }
    run.poll.add(static_cast<std::int64_t>(m) * product.n_states);
    return weights;
}

void Elimination::draw(Run& run, const double* uniform, std::int32_t* states) const {
    std::vector<double> weights;
    for (auto k = products_.size(); k-- > 0;) {
        weigh(products_[k], run, states, weights);
        double left =
            uniform[products_[k].variable] * std::accumulate(weights.begin(), weights.end(), 0.0);
        std::int32_t last = 0;
        for (std::int32_t v = 0; v < products_[k].n_states; ++v) {
            if (weights[v] == 0.0) continue;
            last = v;
            left -= weights[v];
            if (left < 0.0) break;
        }
        states[products_[k].variable] = last;
    }
}

void Elimination::find_best(Run& run, std::int32_t* states) const {
    std::vector<double> weights;
    for (auto k = products_.size(); k-- > 0 && products_[k].maximised;) {
        weigh(products_[k], run, states, weights);
        const auto best = std::max_element(weights.begin(), weights.end());
        states[products_[k].variable] = static_cast<std::int32_t>(best - weights.begin());
    }
}

}  // namespace priorwise
