// Signals, lack of memory, and shared work whose pieces are calls of a Python function.
#include <Python.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "bind/shared/arrays.hpp"
#include "common/interrupt.hpp"
#include "common/parallel.hpp"

using namespace nanobind::literals;

namespace priorwise {
namespace {

void run_signal_handlers() {
    const GilAcquire acquire;
    if (call_python(PyErr_CheckSignals) != 0) throw nb::python_error();
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

// Calls of a Python function, one for each tuple of arguments, which several threads share.
class SharedCalls {
  public:
    SharedCalls(nb::object function, nb::list arguments)
        : function_(std::move(function)),
          arguments_(std::move(arguments)),
          work_(static_cast<std::int64_t>(arguments_.size()), &call_piece, this) {
        for (std::size_t i = 0; i < arguments_.size(); ++i) results.append(nb::none());
    }

    // Take part. The GIL is held on entering and leaving, so that a thread which comes too late, or
    // which the owner no longer waits for, never waits for the GIL: at exit that ends the process.
    void help() {
        if (!work_.enter()) return;
        {
            const GilRelease release;
            work_.take_pieces();
        }
        work_.leave();
    }

    void run() {
        const GilRelease release;
        work_.finish();
    }

    // Stop the work if it is not over, wait until all threads have left it, drop the function.
    void close() {
        {
            const GilRelease release;
            work_.stop();
            try {
                work_.finish();
            } catch (...) {  // the owner has its own exception, or none is left to be raised
            }
        }
        function_.reset();
        arguments_.reset();
    }

    void call(std::size_t i) {
        const auto arguments = nb::object(arguments_[i]);
        results[i] = nb::steal(check(
            call_python([&] { return PyObject_CallObject(function_.ptr(), arguments.ptr()); })));
    }

    nb::list results;

  private:
    static PyObject* check(PyObject* result) {
        if (!result) throw nb::python_error();
        return result;
    }

    static void call_piece(void* self, std::int64_t piece) {
        const GilAcquire acquire;
        static_cast<SharedCalls*>(self)->call(static_cast<std::size_t>(piece));
    }

    nb::object function_;
    nb::list arguments_;
    SharedWork work_;
};

// threading.Thread.start waits for the new thread to report, for ever if it has no memory to do so.
// These threads need not report: the work counts the pieces that they have begun.
void start_threads(const nb::object& run, std::int64_t n_threads) {
    const auto start = nb::module_::import_("_thread").attr("start_new_thread");
    try {
        for (std::int64_t i = 0; i < n_threads; ++i) start(run, nb::make_tuple());
    } catch (nb::python_error& error) {  // the threads that have been started do the work
        if (!error.matches(PyExc_RuntimeError) && !error.matches(PyExc_MemoryError)) throw;
    }
}

// Call a function as `map` does, on at most `n_jobs` threads, this one included.
//
// After the first exception no further item is begun, kernels that run in other threads are
// stopped, and the exception is raised once every thread has ended; the same goes for Ctrl-C.
nb::list map_in_threads(const nb::callable& function, const nb::args& items, std::int64_t n_jobs) {
    const auto zip = nb::module_::import_("builtins").attr("zip");
    nb::list arguments(zip(*items, "strict"_a = true));
    const auto n_calls = static_cast<std::int64_t>(arguments.size());
    const auto calls = std::make_shared<SharedCalls>(function, std::move(arguments));
    if (std::min(n_jobs, n_calls) <= 1) {
        for (std::int64_t i = 0; i < n_calls; ++i) calls->call(static_cast<std::size_t>(i));
        return calls->results;
    }
    struct Closer {
        SharedCalls& calls;
        ~Closer() { calls.close(); }
    } closer{*calls};
    start_threads(nb::cpp_function([calls] { calls->help(); }), std::min(n_jobs, n_calls) - 1);
    calls->run();
    return calls->results;
}

}  // namespace

void bind_threads(nb::module_& m) {
    // A thread that has not begun yet at exit still holds a bound object. That is no leak.
    nb::set_leak_warnings(false);
    set_signal_check(&run_signal_handlers);
    nb::register_exception_translator(&translate);
    m.def("map_in_threads", &map_in_threads, "function"_a, "items"_a, "n_jobs"_a);
}

}  // namespace priorwise
