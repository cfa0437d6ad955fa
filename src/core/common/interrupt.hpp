// Stop long work early: after a signal such as Ctrl-C, or after a failure of other work of the same
// call.
#pragma once

#include <atomic>
#include <exception>

namespace priorwise {

// Thrown by work that stops because other work of the same call has failed. The caller of that
// call gets the first failure, not this.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "other work of the same call has failed"; }
};

// Raised once a call is to stop. A call that is nested in a piece of another call also stops with
// that one, its `outer`.
struct StopFlag {
    std::atomic<bool> raised{false};
    const StopFlag* outer = nullptr;

    bool says_stop() const {
        for (auto* flag = this; flag; flag = flag->outer)
            if (flag->raised.load(std::memory_order_relaxed)) return true;
        return false;
    }
};

// What this thread works on, while the object lives.
class StopScope {
  public:
    explicit StopScope(const StopFlag& flag);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

  private:
    const StopFlag* before_;
};

// The flag of the innermost call that this thread works on, or null.
const StopFlag* current_stop_flag();

// Mark this thread as one that never checks for signals: a worker of the pool.
void ignore_signals_on_this_thread();

// Set the function that runs the handlers of pending signals and throws what they raise.
void set_signal_check(void (*check)());

// Throw if the work of this thread is to stop. Every loop that can run longer than 0.1 s calls
// this at least every few milliseconds; a call costs about as much as reading the clock.
void poll_interrupt();

}  // namespace priorwise
