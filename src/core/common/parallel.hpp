// Run independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>

#include "common/interrupt.hpp"

namespace priorwise {

// Work of fewer elementary steps than this (about 0.1 ms) is done before other threads have woken.
constexpr std::int64_t kLeastSharedWork = 1 << 16;

// The number of threads for work of about so many elementary steps: one, if it is little.
inline int threads_for(std::int64_t n_steps, int n_threads) {
    return n_steps < kLeastSharedWork ? 1 : n_threads;
}

// Pieces 0..n-1 of one call, which any number of threads take in turn.
//
// The thread that owns the call works on it too and waits only for pieces that others have begun,
// so calls may be nested and may come from several threads. After the first failure no further
// piece is begun and pieces that poll are stopped.
class SharedWork {
  public:
    using Run = void (*)(void* body, std::int64_t piece);

    SharedWork(std::int64_t n_pieces, Run run, void* body)
        : n_pieces_(n_pieces), run_(run), body_(body) {
        stop_.outer = current_stop_flag();
    }
    SharedWork(const SharedWork&) = delete;
    SharedWork& operator=(const SharedWork&) = delete;

    // Let up to so many workers of the pool help. As many as there are do: a thread that cannot
    // be started is no error.
    void call_workers(std::int64_t n_helpers) noexcept;

    // A thread that is not of the pool helps by these three. It may enter until the call is over,
    // and the owner waits until it has left.
    bool enter() noexcept;
    void take_pieces() noexcept;
    void leave() noexcept;

    // Do what is left on this thread, the owner's, and wait for the others. Throws the first
    // failure of any piece, after every thread has left.
    void finish();

    // Begin no further piece, and let those that poll end early.
    void stop() noexcept { stop_.raised.store(true, std::memory_order_relaxed); }

  private:
    friend class WorkerPool;

    void fail(std::exception_ptr failure) noexcept;

    const std::int64_t n_pieces_;
    const Run run_;
    void* const body_;
    std::atomic<std::int64_t> next_{0};
    StopFlag stop_;
    std::atomic<bool> has_failed_{false};
    std::exception_ptr failure_;  // written by the thread that sets has_failed_

    // Guarded by the pool.
    std::int64_t n_wanted_ = 0;   // workers that may still join
    std::int64_t n_helpers_ = 0;  // threads inside, the owner apart
    bool over_ = false;
    SharedWork* after_ = nullptr;  // the next call that wants workers
};

// Call body(i) for i in 0..n-1 on at most n_threads threads. Pieces share nothing, so the result
// does not depend on the number of threads. The first exception of any piece is thrown again in
// the caller once all pieces have ended. Polls for interrupts between pieces.
template <class Body>
void parallel_for(std::int64_t n, int n_threads, Body&& body) {
    if (n_threads <= 1 || n <= 1) {
        for (std::int64_t i = 0; i < n; ++i) {
            poll_interrupt();
            body(i);
        }
        return;
    }
    using Called = std::remove_reference_t<Body>;
    SharedWork work(
        n, [](void* called, std::int64_t i) { (*static_cast<Called*>(called))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
    work.call_workers(n_threads - 1);
    work.finish();
}

}  // namespace priorwise
