#include "common/interrupt.hpp"

#include <chrono>

namespace priorwise {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenSignalChecks = std::chrono::milliseconds(50);

struct ThreadWork {
    const StopFlag* flag = nullptr;
    Clock::time_point next_signal_check{};  // the clock's start: at once
};

// glibc makes the variables of a loaded library on first use in each thread, and ends the process
// if it has no memory for them. Those of this model are made with the thread.
#if defined(__GLIBC__)
#define PRIORWISE_TLS_WITH_THREAD __attribute__((tls_model("initial-exec")))
#else
#define PRIORWISE_TLS_WITH_THREAD
#endif
PRIORWISE_TLS_WITH_THREAD thread_local constinit ThreadWork work;

std::atomic<void (*)()> signal_check{nullptr};

}  // namespace

StopScope::StopScope(const StopFlag& flag) : before_(work.flag) {
    work.flag = &flag;
}

StopScope::~StopScope() {
    work.flag = before_;
}

const StopFlag* current_stop_flag() {
    return work.flag;
}

void ignore_signals_on_this_thread() {
    work.next_signal_check = Clock::time_point::max();
}

void set_signal_check(void (*check)()) {
    signal_check.store(check);
}

void poll_interrupt() {
    if (work.flag && work.flag->says_stop()) throw Stopped();
    if (work.next_signal_check == Clock::time_point::max()) return;
    const auto now = Clock::now();
    if (now < work.next_signal_check) return;
    work.next_signal_check = now + kBetweenSignalChecks;
    if (const auto check = signal_check.load(std::memory_order_relaxed)) check();
}

}  // namespace priorwise
