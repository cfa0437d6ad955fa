// Signals, lack of memory, and shared work whose pieces are calls of a Python function.
#include <Python.h>

#include <new>
#include <stdexcept>

#include "bind/shared/arrays.hpp"
#include "common/interrupt.hpp"
#include "common/parallel.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

void run_signal_handlers() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void translate(const std::exception_ptr& failure, void*) {
    try {
        std::rethrow_exception(failure);
    } catch (const Stopped& stopped) {
        // Not an Exception: the functions that it passes through must not go on.
        PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
    } catch (const std::length_error&) {  // a vector longer than any memory
        PyErr_NoMemory();
    }
}

class PythonWork {
  public:
    PythonWork(nb::callable function, std::int64_t n_pieces)
        : function_(std::move(function)), work_(n_pieces, &call, this) {}

    // Take part. The GIL is held on entering and leaving, so that a thread which comes too late, or
    // which the owner no longer waits for, never waits for the GIL: at exit that ends the process.
    void help() {
        if (!work_.enter()) return;
        {
            const nb::gil_scoped_release release;
            work_.take_pieces();
        }
        work_.leave();
    }

    void run() {
        const nb::gil_scoped_release release;
        work_.finish();
    }

    // Stop the work if it is not over, wait until all threads have left it, drop the function.
    void close() {
        {
            const nb::gil_scoped_release release;
            work_.stop();
            try {
                work_.finish();
            } catch (...) {  // the owner has its own exception, or none is left to be raised
            }
        }
        function_.reset();
    }

  private:
    static void call(void* self, std::int64_t piece) {
        const nb::gil_scoped_acquire acquire;
        static_cast<PythonWork*>(self)->function_(piece);
    }

    nb::object function_;
    SharedWork work_;
};

}  // namespace

void bind_threads(nb::module_& m) {
    // A thread that has not begun yet at exit still holds a bound object. That is no leak.
    nb::set_leak_warnings(false);
    set_signal_check(&run_signal_handlers);
    nb::register_exception_translator(&translate);
    nb::class_<PythonWork>(m, "PythonWork")
        .def(nb::init<nb::callable, std::int64_t>(), "function"_a, "n_pieces"_a)
        .def("help", &PythonWork::help)
        .def("run", &PythonWork::run)
        .def("close", &PythonWork::close);
}

}  // namespace priorwise
