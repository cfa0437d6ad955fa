// The module: one file of bindings for each folder of kernels. Only files in bind know Python; each
// binding checks its arguments, releases the GIL and calls one kernel.
#include <nanobind/nanobind.h>

namespace priorwise {

void bind_threads(nanobind::module_& m);
void bind_counts(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_cuts(nanobind::module_& m);
void bind_smoothing(nanobind::module_& m);
void bind_networks(nanobind::module_& m);
void bind_scores(nanobind::module_& m);
void bind_weighting(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
void bind_forests(nanobind::module_& m);
void bind_boosting(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_stored(nanobind::module_& m);

}  // namespace priorwise

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of priorwise: arrays in, arrays out.";
    using namespace priorwise;
    for (const auto bind : {&bind_threads, &bind_counts, &bind_pairs, &bind_cuts, &bind_smoothing,
                            &bind_networks, &bind_scores, &bind_weighting, &bind_trees,
                            &bind_forests, &bind_boosting, &bind_linear, &bind_stored})
        bind(m);
}
