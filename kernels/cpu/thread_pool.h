// Fork-join over numbered tasks. Results do not depend on which worker runs a task, because the number of a task
// determines its work.
//
// Between runs a worker spins for at most 50 us, then sleeps. A worker that arrives late finds the run closed and
// skips it, so a run never waits for a worker that has not entered it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

namespace palimpsest::kernels {

class ThreadPool {
public:
    explicit ThreadPool(int threads); // >= 1, including the calling thread
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls body(task, worker) for every task in [0, tasks), with worker in [0, threads()), and returns when all
    // have finished (but see set_stop). The body must not throw and must not call run.
    template<class Body>
    void run(int64_t tasks, Body&& body)
    {
        using Plain = std::remove_reference_t<Body>;
        run_erased(
            tasks, [](void* b, int64_t task, int worker) { (*static_cast<Plain*>(b))(task, worker); },
            const_cast<void*>(static_cast<const void*>(&body)));
    }

    // Once a stop is requested through this token, a run skips the tasks that have not started. Must not be called
    // during a run.
    void set_stop(std::stop_token token) { stop_ = std::move(token); }

private:
    using Call = void (*)(void*, int64_t, int);
    void run_erased(int64_t tasks, Call call, void* body);
    void work(int worker);
    void join();
    uint64_t next_epoch(uint64_t seen); // waits for an epoch after `seen`, or for join()
    bool enter(uint64_t epoch);
    void leave();
    void take_tasks(int worker);

    std::vector<std::thread> workers_;
    std::mutex mutex_; // for sleeping on wake_
    std::condition_variable wake_;
    // epoch (incremented by every run) << 16 | open << 15 | number of workers inside the run. Workers enter a run
    // only while it is open; tasks_, call_ and body_ are written, and next_ is reset, only while it is closed and
    // no worker is inside.
    std::atomic<uint64_t> state_{0};
    std::atomic<bool> ends_{false}; // set by join(): workers return
    std::atomic<int64_t> next_{0};  // next task that is not taken
    std::stop_token stop_;
    int64_t tasks_ = 0;
    Call call_ = nullptr;
    void* body_ = nullptr;
};

} // namespace palimpsest::kernels
