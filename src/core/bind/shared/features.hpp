// Columns and rows of a table, for the bindings of trees.
#pragma once

#include "bind/shared/define.hpp"
#include "trees/splits.hpp"

namespace priorwise {

// Columns of a table, held for as long as a kernel reads them: float64 numbers or int32 codes,
// aligned, at any distance from each other.
class FeatureColumns {
  public:
    FeatureColumns() = default;
    FeatureColumns(FeatureColumns&&) = default;
    FeatureColumns& operator=(FeatureColumns&&) = default;

    bool take(PyObject* object) {
        if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
        for (Py_ssize_t c = 0; c < PySequence_Size(object); ++c) {
            const auto column = nb::steal(PySequence_GetItem(object, c));
            if (!column.is_valid()) throw nb::python_error();
            if (!take_column(column.ptr())) return false;
        }
        return true;
    }

    std::span<const Feature> features() const { return features_; }
    std::size_t size() const { return features_.size(); }

    // n_rows rows in every column.
    void check_rows(std::int64_t n_rows) const {
        check_range(n_rows, 0, std::numeric_limits<std::int32_t>::max() - 1, "n_rows");
        for (std::size_t c = 0; c < size_.size(); ++c)
            require(size_[c] == n_rows, "columns[", c, "] needs one entry per row: ", n_rows,
                    ", got ", size_[c]);
    }

    // Memory for results of so many bytes per row: without columns, n_rows is only a number.
    void check_results(std::int64_t n_rows, std::size_t n_bytes) const {
        require_memory(static_cast<double>(n_rows) * static_cast<double>(n_bytes),
                       size() * static_cast<std::size_t>(n_rows), "n_rows", n_rows);
    }

    // Codes of training rows: not negative, and few enough to be counted in an array.
    void check_training_codes() const {
        constexpr std::int32_t kMaxCodes = 1 << 24;
        for (std::size_t c = 0; c < features_.size(); ++c) {
            if (!features_[c].nominal()) continue;
            std::int32_t smallest = 0, largest = 0;
            for (std::int64_t r = 0; r < size_[c]; ++r) {
                smallest = std::min(smallest, features_[c].code_at(r));
                largest = std::max(largest, features_[c].code_at(r));
            }
            const std::int32_t ends[] = {smallest, largest};
            check_codes(ends, kMaxCodes, "columns", static_cast<std::int64_t>(c));
        }
    }

  private:
    bool take_column(PyObject* object) {
        auto buffer = take_buffer(object, false);
        if (!buffer || buffer->ndim != 1) return false;
        Feature feature;
        if (holds<double>(*buffer))
            feature.number = static_cast<const double*>(buffer->buf);
        else if (holds<std::int32_t>(*buffer))
            feature.code = static_cast<const std::int32_t*>(buffer->buf);
        else
            return false;
        if (buffer->shape[0] > 1 && buffer->strides[0] % buffer->itemsize != 0) return false;
        feature.stride = buffer->strides[0] / buffer->itemsize;
        features_.push_back(feature);
        size_.push_back(buffer->shape[0]);
        buffers_.push_back(std::move(buffer));
        return true;
    }

    std::vector<Buffer> buffers_;
    std::vector<Feature> features_;
    std::vector<std::int64_t> size_;  // rows of each
};

template <>
struct Taker<FeatureColumns> {
    static bool take(nb::handle source, FeatureColumns& out) { return out.take(source.ptr()); }
    static std::string expected() {
        return "a list of arrays, aligned, of 1 dimension and type float64 or int32";
    }
};

using Weight = std::optional<Vector<double>>;

// Rows to grow trees on.
inline GrowthRows check_growth_rows(std::span<const Feature> features,
                                    const Vector<std::int32_t>& outcome, std::int32_t n_outcomes,
                                    const Weight& grow_weight, const Weight& count_weight) {
    check_at_least(n_outcomes, 1, "n_outcomes");
    const auto n_columns = features.size() + 1;
    require_memory(32.0 * n_outcomes * static_cast<double>(n_columns), n_columns * outcome.size(),
                   "n_outcomes", n_outcomes);
    check_codes(outcome, n_outcomes, "outcome");
    check_weights(grow_weight, outcome.size(), "grow_weight");
    check_weights(count_weight, outcome.size(), "count_weight");
    return {static_cast<std::int64_t>(outcome.size()),
            features,
            outcome,
            n_outcomes,
            data_or_null(grow_weight),
            data_or_null(count_weight)};
}

// Directions of features, empty or one for each: only numbers of two outcomes can have one.
inline void check_monotone(std::span<const Feature> features,
                           std::span<const std::int32_t> monotone, std::int64_t n_outcomes) {
    if (monotone.size() == 0) return;
    check_size(monotone.size(), features.size(), "monotone", "feature");
    require(n_outcomes == 2, "monotone needs two outcomes");
    for (std::size_t f = 0; f < features.size(); ++f) {
        check_range(monotone[f], -1, 1, "monotone");
        require(monotone[f] == 0 || !features[f].nominal(), "monotone must be 0 for codes");
    }
}

inline GrowthRules check_random_rules(double min_samples_leaf, std::int32_t max_depth,
                                      std::int32_t max_features, std::int32_t n_random_splits,
                                      std::uint64_t seed) {
    check_not_negative(min_samples_leaf, "min_samples_leaf");
    check_at_least(max_depth, 0, "max_depth");
    check_at_least(max_features, 0, "max_features");
    check_range(n_random_splits, 1, kMaxRandomSplits, "n_random_splits");
    GrowthRules rules;
    rules.min_samples_leaf = min_samples_leaf;
    rules.max_depth = max_depth;
    rules.max_features = max_features;
    rules.n_random_splits = n_random_splits;
    rules.seed = seed;
    return rules;
}

}  // namespace priorwise
