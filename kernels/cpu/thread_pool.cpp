#include "kernels/cpu/thread_pool.h"

#include <chrono>
#include <system_error>

#include "kernels/base/error.h"

namespace palimpsest::kernels {
namespace {

// The layout of ThreadPool::state_, which thread_pool.h explains.
constexpr int epoch_shift = 16;
constexpr uint64_t open_bit = 1u << 15;
constexpr uint64_t inside_mask = open_bit - 1;
// Waking a thread takes tens of microseconds, and most operations of a layer follow each other sooner.
constexpr auto spin_time = std::chrono::microseconds(50);

uint64_t epoch_of(uint64_t state)
{
    return state >> epoch_shift;
}

void pause()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins until ready() or until spin_time has passed; returns the last result of ready().
template<class Ready>
bool spin_until(Ready&& ready)
{
    const auto end = std::chrono::steady_clock::now() + spin_time;
    do {
        for (int i = 0; i < 64; ++i) { // the clock is read less often than the state
            if (ready()) return true;
            pause();
        }
    } while (std::chrono::steady_clock::now() < end);
    return ready();
}

} // namespace

ThreadPool::ThreadPool(int threads)
{
    workers_.reserve(static_cast<size_t>(threads - 1));
    try {
        for (int worker = 1; worker < threads; ++worker)
            workers_.emplace_back([this, worker] { work(worker); });
    } catch (const std::system_error&) {
        join();
        throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text(Setting::Threads),
                    Text("the system does not start {0} threads", threads), Text("use fewer"));
    }
}

ThreadPool::~ThreadPool()
{
    join();
}

void ThreadPool::join()
{
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_)
        worker.join();
}

void ThreadPool::run_erased(int64_t tasks, Call call, void* body)
{
    if (tasks <= 0) return;
    if (tasks == 1 || workers_.empty()) {
        for (int64_t task = 0; task < tasks && !stop_.stop_requested(); ++task)
            call(body, task, 0);
        return;
    }
    tasks_ = tasks;
    call_ = call;
    body_ = body;
    next_.store(0, std::memory_order_relaxed);
    {
        // Stores the epoch under the lock, so that a worker about to sleep either sees it or is woken up.
        const std::lock_guard lock(mutex_);
        state_.store((epoch_of(state_.load(std::memory_order_relaxed)) + 1) << epoch_shift | open_bit,
                     std::memory_order_release);
    }
    wake_.notify_all();
    take_tasks(0);
    state_.fetch_and(~open_bit, std::memory_order_acq_rel);
    const auto is_empty = [this] { return (state_.load(std::memory_order_acquire) & inside_mask) == 0; };
    if (spin_until(is_empty)) return;
    for (uint64_t state = state_.load(std::memory_order_acquire); (state & inside_mask) != 0;
         state = state_.load(std::memory_order_acquire))
        state_.wait(state, std::memory_order_acquire);
}

void ThreadPool::work(int worker)
{
    uint64_t seen = 0;
    while (true) {
        seen = next_epoch(seen);
        if (ends_) return;
        if (!enter(seen)) continue;
        take_tasks(worker);
        leave();
    }
}

uint64_t ThreadPool::next_epoch(uint64_t seen)
{
    const auto has_news = [&] { return epoch_of(state_.load(std::memory_order_acquire)) != seen || ends_; };
    if (!spin_until(has_news)) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, has_news);
    }
    return epoch_of(state_.load(std::memory_order_acquire));
}

bool ThreadPool::enter(uint64_t epoch)
{
    uint64_t state = state_.load(std::memory_order_acquire);
    while (epoch_of(state) == epoch && (state & open_bit) != 0)
        if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire))
            return true;
    return false;
}

void ThreadPool::leave()
{
    // The caller of run() sleeps only after it has closed the run; the last worker to leave a closed run wakes it.
    if ((state_.fetch_sub(1, std::memory_order_acq_rel) & (open_bit | inside_mask)) == 1) state_.notify_one();
}

void ThreadPool::take_tasks(int worker)
{
    for (int64_t task; !stop_.stop_requested() && (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
        call_(body_, task, worker);
}

} // namespace palimpsest::kernels
