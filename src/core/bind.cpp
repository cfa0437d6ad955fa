// The only file of the core that knows Python: check shapes, release the GIL, call one kernel.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_core, m) { m.doc() = "Compiled kernels of priorwise: arrays in, arrays out."; }
