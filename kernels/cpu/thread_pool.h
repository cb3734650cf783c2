// Fork-join over numbered tasks. Which worker runs a task never shows in results: a task's work is fixed by its
// number.
//
// Between runs a worker spins for at most 50 us, then sleeps. A worker that comes late to a run finds it closed and
// stays out, so a run never waits for a thread that another process keeps from its core.
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
    explicit ThreadPool(int threads); // >= 1; the caller is one of them
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    // Calls body(task, worker) for every task in [0, tasks), worker in [0, threads()), and returns when all are
    // done (but see set_stop). The body must not throw and must not call run.
    template<class Body>
    void run(int64_t tasks, Body&& body)
    {
        using Plain = std::remove_reference_t<Body>;
        run_erased(
            tasks, [](void* b, int64_t task, int worker) { (*static_cast<Plain*>(b))(task, worker); },
            const_cast<void*>(static_cast<const void*>(&body)));
    }

    // Once a stop of this token is requested, a run leaves out the tasks that nobody has begun. Not during a run.
    void set_stop(std::stop_token token) { cancel_ = std::move(token); }

private:
    using Call = void (*)(void*, int64_t, int);
    void run_erased(int64_t tasks, Call call, void* body);
    void work(int worker);
    void join();
    uint64_t next_state(uint64_t seen); // waits for a run after `seen`, or the end
    bool enter(uint64_t epoch);
    void leave();
    void take_tasks(int worker);

    std::vector<std::thread> workers_;
    std::mutex mutex_; // only for sleeping on wake_
    std::condition_variable wake_;
    // epoch (grows with every run) << 16 | open << 15 | workers inside the run. A worker enters only while open;
    // the run's fields below are written only while closed and empty.
    std::atomic<uint64_t> state_{0};
    std::atomic<bool> stop_{false};
    std::atomic<int64_t> next_{0}; // next task nobody has taken
    std::stop_token cancel_;
    int64_t tasks_ = 0;
    Call call_ = nullptr;
    void* body_ = nullptr;
};

} // namespace palimpsest::kernels
