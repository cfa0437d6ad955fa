// The interpreter's lock (GIL), given back and taken by threads that may outlive the interpreter.
//
// A daemon thread that asks for the GIL while the process ends is ended by Python before 3.14. With
// glibc that unwinds its stack like an exception; a function that lets none pass, as destructors
// do, then ends the process by std::terminate. Here such a thread sleeps until the process is gone,
// as it does from Python 3.14 on.
#pragma once

#include <Python.h>

#include <chrono>
#include <thread>

namespace priorwise {

// The result of a function of Python's C interface, which throws nothing itself.
template <class Function>
auto call_python(const Function& function) noexcept {
    try {
        return function();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

class GilRelease {
  public:
    GilRelease() noexcept : state_(PyEval_SaveThread()) {}
    ~GilRelease() {
        call_python([this] { PyEval_RestoreThread(state_); });
    }
    GilRelease(const GilRelease&) = delete;
    GilRelease& operator=(const GilRelease&) = delete;

  private:
    PyThreadState* state_;
};

class GilAcquire {
  public:
    GilAcquire() noexcept : state_(call_python(PyGILState_Ensure)) {}
    ~GilAcquire() { PyGILState_Release(state_); }
    GilAcquire(const GilAcquire&) = delete;
    GilAcquire& operator=(const GilAcquire&) = delete;

  private:
    PyGILState_STATE state_;
};

}  // namespace priorwise
