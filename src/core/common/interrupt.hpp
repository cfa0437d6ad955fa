// Stop long work early: after a signal such as Ctrl-C, or after a failure of other work of the same
// call.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
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

// Poll in one of kPeriod rounds of a loop over i.
template <std::int64_t kPeriod>
void poll_every(std::integral auto i) {
    static_assert(kPeriod > 0 && (kPeriod & (kPeriod - 1)) == 0);
    if ((static_cast<std::uint64_t>(i) & (kPeriod - 1)) == 0) poll_interrupt();
}

// Poll once in so many elementary steps, where they come in portions of any size.
class WorkPoll {
  public:
    void add(std::int64_t n_steps) {
        n_left_ -= n_steps;
        if (n_left_ > 0) return;
        n_left_ = kSteps;
        poll_interrupt();
    }

  private:
    static constexpr std::int64_t kSteps = 1 << 16;
    std::int64_t n_left_ = kSteps;
};

// std::sort, and where it may take long it polls.
template <class Iterator, class Less>
void sort_polling(Iterator first, Iterator last, Less less) {
    constexpr std::ptrdiff_t kShort = 1 << 18;
    if (last - first <= kShort) return std::sort(first, last, less);
    std::uint32_t n_compared = 0;
    std::sort(first, last, [&](const auto& a, const auto& b) {
        poll_every<1 << 16>(++n_compared);
        return less(a, b);
    });
}

}  // namespace priorwise
