// Columns and rows of a table, for the bindings of trees.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/checks.hpp"
#include "trees/splits.hpp"

namespace priorwise {

using NumberColumn = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using CodeColumn = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu>;

// Columns of a table, held for as long as a kernel reads them: float64 numbers, int32 codes.
struct HeldFeatures {
    HeldFeatures(const nb::list& columns, std::int64_t n_rows) {
        for (nb::handle column : columns) {
            Feature feature;
            NumberColumn number;
            CodeColumn code;
            std::int64_t size;
            // No conversion: the type of a column says what it is.
            if (nb::try_cast(column, number, false)) {
                feature.number = number.data();
                feature.stride = number.stride(0);
                size = static_cast<std::int64_t>(number.shape(0));
                numbers.push_back(number);
            } else {
                require(nb::try_cast(column, code, false), "columns must be float64 or int32");
                feature.code = code.data();
                feature.stride = code.stride(0);
                size = static_cast<std::int64_t>(code.shape(0));
                codes.push_back(code);
            }
            require(size == n_rows, "columns and rows differ in length");
            features.push_back(feature);
        }
    }
    std::vector<NumberColumn> numbers;
    std::vector<CodeColumn> codes;
    std::vector<Feature> features;
};

inline void check_training_codes(const std::vector<Feature>& features, std::int64_t n_rows) {
    for (std::size_t f = 0; f < features.size(); ++f)
        for (std::int64_t r = 0; features[f].nominal() && r < n_rows; ++r)
            if (features[f].code_at(r) < 0)
                throw std::invalid_argument("column " + std::to_string(f) +
                                            ": codes of training rows must not be negative");
}

inline GrowthRows growth_rows(const HeldFeatures& held, const Vector<std::int32_t>& outcome,
                              std::int32_t n_outcomes,
                              const std::optional<Vector<double>>& grow_weight,
                              const std::optional<Vector<double>>& count_weight) {
    const auto n_rows = outcome.shape(0);
    for (const auto k : view(outcome))
        if (k < 0 || k >= n_outcomes)
            throw std::invalid_argument("outcome must lie in 0..n_outcomes - 1");
    for (const auto* weight : {&grow_weight, &count_weight})
        require(!*weight || (*weight)->shape(0) == n_rows, "weights and rows differ in length");
    return {static_cast<std::int64_t>(n_rows),
            held.features,
            view(outcome),
            n_outcomes,
            grow_weight ? grow_weight->data() : nullptr,
            count_weight ? count_weight->data() : nullptr};
}

}  // namespace priorwise
