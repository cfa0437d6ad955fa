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
    priorwise::bind_threads(m);
    priorwise::bind_counts(m);
    priorwise::bind_pairs(m);
    priorwise::bind_cuts(m);
    priorwise::bind_smoothing(m);
    priorwise::bind_networks(m);
    priorwise::bind_scores(m);
    priorwise::bind_weighting(m);
    priorwise::bind_trees(m);
    priorwise::bind_forests(m);
    priorwise::bind_boosting(m);
    priorwise::bind_linear(m);
    priorwise::bind_stored(m);
}
