// Run independent pieces of work on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace priorwise {

// Call body(i) for i in 0..n-1. Pieces share nothing, so the result does not depend on the number
// of threads. The first exception of any piece is thrown again in the caller.
template <class Body>
void parallel_for(std::int64_t n, int n_threads, Body&& body) {
    const auto n_workers = std::min<std::int64_t>(n_threads, n);
    if (n_workers <= 1) {
        for (std::int64_t i = 0; i < n; ++i) body(i);
        return;
    }
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_guard;
    const auto work = [&] {
        for (auto i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
            try {
                body(i);
            } catch (...) {
                const std::lock_guard lock(failure_guard);
                if (!failure) failure = std::current_exception();
                next.store(n);
            }
        }
    };
    std::vector<std::thread> workers;
    for (std::int64_t w = 1; w < n_workers; ++w) workers.emplace_back(work);
    work();
    for (auto& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace priorwise
