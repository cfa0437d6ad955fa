#include "common/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif
#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

namespace priorwise {
namespace {

// Whether this thread has the memory that its first exception needs. Where that is allocated only
// when the thread throws and there is none left, the C library ends the process. So every thread
// allocates it before it takes part in work.
bool can_throw() noexcept {
#if __has_include(<cxxabi.h>)
    constexpr std::size_t kMoreThanNeeded = 4096;
    void* volatile memory = std::malloc(kMoreThanNeeded);
    if (!memory) return false;
    std::free(memory);
    // The function is declared to have no effect: if its result were not kept, the compiler would
    // leave out the call.
    const void* volatile data = abi::__cxa_get_globals();
    (void)data;
#endif
    return true;
}

}  // namespace

// Threads that are started when they are first wanted and then kept. The pool lives as long as
// the process: its threads wait in it, so nothing of it may be destroyed at exit.
class WorkerPool {
  public:
    // The pool of this process, or null if there is no memory for it.
    static WorkerPool* get() noexcept;

    void call_workers(SharedWork& work, std::int64_t n_helpers) noexcept {
        const std::lock_guard lock(guard_);
        start_workers(std::min(n_helpers, max_workers()));
        work.n_wanted_ = std::min(n_helpers, n_workers_);
        if (work.n_wanted_ == 0) return;
        work.after_ = std::exchange(first_, &work);
        for (auto w = work.n_wanted_; w > 0; --w) work_called_.notify_one();
    }

    bool enter(SharedWork& work) noexcept {
        const std::lock_guard lock(guard_);
        if (work.over_) return false;
        ++work.n_helpers_;
        return true;
    }

    void leave(SharedWork& work) noexcept {
        const std::lock_guard lock(guard_);
        if (--work.n_helpers_ == 0) helpers_left_.notify_all();
    }

    // Let nobody enter any more; wait a while for those inside. Returns whether all have left.
    bool close(SharedWork& work) noexcept {
        std::unique_lock lock(guard_);
        work.over_ = true;
        forget(work);
        return helpers_left_.wait_for(lock, kBetweenPolls, [&] { return work.n_helpers_ == 0; });
    }

  private:
    // More threads than processors only take memory for their stacks.
    static std::int64_t max_workers() noexcept {
        return std::max<std::int64_t>(7, std::thread::hardware_concurrency());
    }

    static constexpr auto kBetweenPolls = std::chrono::milliseconds(50);

    void start_workers(std::int64_t n_wanted) noexcept {
        try {
            for (; n_workers_ < n_wanted; ++n_workers_)
                std::thread([this]() noexcept { serve(); }).detach();
        } catch (...) {  // no thread or no memory for one: go on with those there are
        }
    }

    void serve() noexcept {
        ignore_signals_on_this_thread();
        for (std::unique_lock lock(guard_);;) {
            work_called_.wait(lock, [&] { return first_ != nullptr; });
            auto& work = *first_;
            ++work.n_helpers_;
            if (--work.n_wanted_ == 0) forget(work);
            lock.unlock();
            if (can_throw()) work.take_pieces();
            lock.lock();
            if (--work.n_helpers_ == 0) helpers_left_.notify_all();
        }
    }

    void forget(SharedWork& work) noexcept {
        for (auto** at = &first_; *at; at = &(*at)->after_)
            if (*at == &work) {
                *at = work.after_;
                return;
            }
    }

    std::mutex guard_;
    std::condition_variable work_called_, helpers_left_;
    SharedWork* first_ = nullptr;  // calls that want workers, the newest first
    std::int64_t n_workers_ = 0;
};

namespace {

std::atomic<WorkerPool*> pool{nullptr};

// After a fork the child has none of the threads, and the parent's locks may be held for good.
void forget_pool() {
    pool.store(nullptr);
}

}  // namespace

WorkerPool* WorkerPool::get() noexcept {
    auto* kept = pool.load();
    if (kept) return kept;
    auto* made = new (std::nothrow) WorkerPool;
    if (!made) return nullptr;
    if (!pool.compare_exchange_strong(kept, made)) {
        delete made;
        return kept;
    }
#if __has_include(<pthread.h>)
    static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
    (void)registered;
#endif
    return made;
}

void SharedWork::call_workers(std::int64_t n_helpers) noexcept {
    if (auto* workers = WorkerPool::get())
        workers->call_workers(*this, std::min(n_helpers, n_pieces_ - 1));
}

bool SharedWork::enter() noexcept {
    if (!can_throw()) return false;
    auto* workers = WorkerPool::get();
    return workers && workers->enter(*this);
}

void SharedWork::leave() noexcept {
    WorkerPool::get()->leave(*this);
}

void SharedWork::finish() {
    take_pieces();
    if (auto* workers = WorkerPool::get())
        while (!workers->close(*this)) try {
                poll_interrupt();
            } catch (...) {
                fail(std::current_exception());
            }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (stop_.says_stop()) throw Stopped();
}

void SharedWork::take_pieces() noexcept {
    const StopScope scope(stop_);
    try {
        for (;;) {
            const auto piece = next_.fetch_add(1, std::memory_order_relaxed);
            if (piece >= n_pieces_) return;
            poll_interrupt();
            run_(body_, piece);
        }
    } catch (...) {
        fail(std::current_exception());
    }
}

void SharedWork::fail(std::exception_ptr failure) noexcept {
    if (!has_failed_.exchange(true)) failure_ = std::move(failure);
    stop();
}

}  // namespace priorwise
