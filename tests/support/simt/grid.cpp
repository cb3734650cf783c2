#include "tests/support/simt/grid.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/simt/fiber.h"

namespace simt {
namespace {

constexpr unsigned lanes = 32, most_threads = 1024, most_warps = most_threads / lanes;

struct Abandoned {}; // unwinds the threads of a block that cannot go on

enum class State : uint8_t { New, Running, AtBlock, AtWarp, Ended };

struct Thread {
    State state = State::New;
    Fiber* fiber = nullptr; // while it waits
    std::source_location where;
};

struct Warp {
    uint32_t members = 0, ready = 0, arrived = 0;
    unsigned turn = 0;
    uint64_t brought[2][lanes] = {};
};

std::string place(const std::source_location& where)
{
    const std::string file = where.file_name();
    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

bool same(const std::source_location& a, const std::source_location& b)
{
    return a.line() == b.line() && a.column() == b.column() && std::string_view(a.file_name()) == b.file_name();
}

class Scheduler {
public:
    void run(const Grid& grid, void (*body)(const void*), const void* arguments);
    void meet_block(const std::source_location& where);
    const uint64_t* exchange(uint64_t mine, const std::source_location& where);
    [[noreturn]] void fail(const std::string& sentence);

    unsigned running() const { return running_; }
    void* shared() { return shared_.get(); }
    Fiber& run_threads();
    Order order = Order::Ascending;

private:
    struct SharedFree {
        void operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{128}); }
    };

    void number_threads();
    void run_block();
    void run_thread(unsigned thread);
    void make_ready(unsigned warp, uint32_t which);
    bool take_next();
    void wait(State state, const std::source_location& where);
    void go_on(Fiber& fiber);
    Fiber& fiber_of_next();
    void begin_to_abandon();
    std::string at(unsigned thread) const;
    std::string deadlock() const;

    unsigned threads_ = 0, warps_ = 0;
    void (*body_)(const void*) = nullptr;
    const void* arguments_ = nullptr;
    Thread thread_[most_threads];
    uint3 index_[most_threads] = {};
    Warp warp_[most_warps];
    uint32_t ready_warps_ = 0;
    unsigned running_ = 0, at_block_ = 0, ended_ = 0;
    std::source_location block_where_;
    bool abandoned_ = false;
    std::exception_ptr failure_;

    std::unique_ptr<std::byte, SharedFree> shared_;
    Fiber* host_ = nullptr; // who called run()
    Fiber* current_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;
};

Scheduler& scheduler()
{
    static Scheduler* const one = new Scheduler; // lives as long as the process: fibers do not end
    return *one;
}

Fiber& run_on_fiber()
{
    return scheduler().run_threads();
}

void Scheduler::number_threads()
{
    for (unsigned t = 0; t < threads_; ++t)
        index_[t] = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
}

void Scheduler::run(const Grid& grid, void (*body)(const void*), const void* arguments)
{
    threads_ = grid.threads.x * grid.threads.y * grid.threads.z;
    if (threads_ == 0 || threads_ > most_threads)
        throw Misuse("a block has " + std::to_string(threads_) + " threads");
    warps_ = (threads_ + lanes - 1) / lanes;
    body_ = body;
    arguments_ = arguments;
    blockDim = grid.threads;
    gridDim = grid.blocks;
    number_threads();
    Fiber host;
    host_ = current_ = &host;
    shared_.reset(static_cast<std::byte*>(::operator new[](grid.shared_bytes, std::align_val_t{128})));
    const uint64_t blocks = uint64_t{gridDim.x} * gridDim.y * gridDim.z;
    for (uint64_t i = 0; i < blocks; ++i) {
        const uint64_t b = order == Order::Ascending ? i : blocks - 1 - i;
        blockIdx = {static_cast<unsigned>(b % gridDim.x), static_cast<unsigned>(b / gridDim.x % gridDim.y),
                    static_cast<unsigned>(b / gridDim.x / gridDim.y)};
        std::fill_n(shared_.get(), grid.shared_bytes, std::byte{0xff});
        run_block();
    }
}

void Scheduler::run_block()
{
    std::fill_n(thread_, threads_, Thread{});
    for (unsigned w = 0; w < warps_; ++w) {
        warp_[w] = {};
        const unsigned members = std::min(lanes, threads_ - w * lanes);
        warp_[w].members = members == lanes ? ~0u : (1u << members) - 1;
        make_ready(w, warp_[w].members);
    }
    at_block_ = ended_ = 0;
    abandoned_ = false;
    failure_ = nullptr;
    running_ = order == Order::Ascending ? 0 : threads_ - 1;
    take_next();
    go_on(fiber_of_next());
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Scheduler::make_ready(unsigned warp, uint32_t which)
{
    warp_[warp].ready |= which;
    if (warp_[warp].ready) ready_warps_ |= 1u << warp;
}

// The next lane of the same warp, so that a warp's lanes come to their exchange together; else the next warp.
bool Scheduler::take_next()
{
    if (ready_warps_ == 0) return false;
    const auto first_after = [&](uint32_t among, unsigned from) {
        if (order == Order::Ascending) {
            const uint32_t later = among & (~0u << from);
            return static_cast<unsigned>(std::countr_zero(later ? later : among));
        }
        const uint32_t earlier = among & (~0u >> (lanes - 1 - from));
        return lanes - 1 - static_cast<unsigned>(std::countl_zero(earlier ? earlier : among));
    };
    unsigned w = running_ / lanes, from = running_ % lanes;
    if (warp_[w].ready == 0) {
        w = first_after(ready_warps_, w);
        from = order == Order::Ascending ? 0 : lanes - 1;
    }
    const unsigned l = first_after(warp_[w].ready, from);
    warp_[w].ready &= ~(1u << l);
    if (warp_[w].ready == 0) ready_warps_ &= ~(1u << w);
    running_ = w * lanes + l;
    threadIdx = index_[running_];
    return true;
}

Fiber& Scheduler::fiber_of_next()
{
    if (thread_[running_].fiber) return *thread_[running_].fiber;
    if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>(run_on_fiber));
        return *fibers_.back();
    }
    Fiber& fiber = *idle_.back();
    idle_.pop_back();
    return fiber;
}

void Scheduler::go_on(Fiber& fiber)
{
    Fiber& from = *std::exchange(current_, &fiber);
    if (&from != &fiber) fiber.resume_from(from);
}

// What every fiber does: threads that have not begun, until the next one waits on another fiber.
Fiber& Scheduler::run_threads()
{
    for (;;) {
        run_thread(running_);
        if (!take_next()) {
            if (ended_ < threads_) begin_to_abandon();
            if (!take_next()) {
                idle_.push_back(current_);
                go_on(*host_);
                continue;
            }
        }
        if (!thread_[running_].fiber) continue;
        idle_.push_back(current_);
        go_on(*thread_[running_].fiber);
    }
}

void Scheduler::run_thread(unsigned thread)
{
    if (!abandoned_) {
        thread_[thread].state = State::Running;
        try {
            body_(arguments_);
        } catch (const Abandoned&) {
        } catch (...) {
            if (!failure_) failure_ = std::current_exception();
            abandoned_ = true;
        }
    }
    thread_[thread].state = State::Ended;
    ++ended_;
}

void Scheduler::wait(State state, const std::source_location& where)
{
    const unsigned self = running_;
    thread_[self] = {state, current_, where};
    if (!take_next()) {
        begin_to_abandon();
        take_next();
    }
    go_on(fiber_of_next());
    thread_[self].fiber = nullptr;
    thread_[self].state = State::Running;
    if (abandoned_) throw Abandoned{};
}

void Scheduler::meet_block(const std::source_location& where)
{
    if (abandoned_) throw Abandoned{};
    if (at_block_ > 0 && !same(block_where_, where))
        fail("thread " + std::to_string(running_) + " is at the barrier of " + place(where) +
             " while others of its block wait at the one of " + place(block_where_));
    block_where_ = where;
    if (++at_block_ < threads_) return wait(State::AtBlock, where);
    at_block_ = 0;
    for (unsigned w = 0; w < warps_; ++w) {
        const uint32_t self = w == running_ / lanes ? 1u << running_ % lanes : 0;
        make_ready(w, warp_[w].members & ~self);
    }
}

const uint64_t* Scheduler::exchange(uint64_t mine, const std::source_location& where)
{
    if (abandoned_) throw Abandoned{};
    const unsigned self = running_ % lanes, w = running_ / lanes;
    Warp& warp = warp_[w];
    if (warp.arrived != 0) {
        const Thread& other = thread_[w * lanes + static_cast<unsigned>(std::countr_zero(warp.arrived))];
        if (!same(other.where, where))
            fail("thread " + std::to_string(running_) + " is at the warp operation of " + place(where) +
                 " while others of its warp wait at the one of " + place(other.where));
    }
    uint64_t* const brought = warp.brought[warp.turn];
    brought[self] = mine;
    warp.arrived |= 1u << self;
    if (warp.arrived != ~0u) {
        wait(State::AtWarp, where);
        return brought;
    }
    warp.arrived = 0;
    warp.turn ^= 1;
    make_ready(w, ~(1u << self));
    return brought;
}

std::string Scheduler::at(unsigned thread) const
{
    const Thread& t = thread_[thread];
    const std::string who = "thread " + std::to_string(thread);
    if (t.state == State::Ended) return who + " has ended";
    return who + " waits at the " + (t.state == State::AtBlock ? "barrier" : "warp operation") + " of " +
           place(t.where);
}

// Names a thread that waits and one that it waits for in vain.
std::string Scheduler::deadlock() const
{
    const auto first = [&](unsigned from, unsigned to, auto&& which) {
        return static_cast<unsigned>(std::find_if(thread_ + from, thread_ + to, which) - thread_);
    };
    const auto waits_at = [](State state) { return [state](const Thread& t) { return t.state == state; }; };
    const std::string block = "block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                              std::to_string(blockIdx.z) + ") cannot go on: ";
    const unsigned lane = first(0, threads_, waits_at(State::AtWarp));
    if (lane == threads_) {
        const unsigned waiting = first(0, threads_, waits_at(State::AtBlock));
        return block + at(waiting) + ", but " + at(first(0, threads_, waits_at(State::Ended)));
    }
    const unsigned begin = lane / lanes * lanes, end = std::min(begin + lanes, threads_);
    const unsigned missing = first(begin, end, [](const Thread& t) { return t.state != State::AtWarp; });
    return block + at(lane) + (missing < end ? ", but " + at(missing) : ", whose warp is not full");
}

// No thread can run and not all have ended: unwinds those that wait.
void Scheduler::begin_to_abandon()
{
    if (!failure_ && !abandoned_) failure_ = std::make_exception_ptr(Misuse(deadlock()));
    abandoned_ = true;
    for (unsigned t = 0; t < threads_; ++t)
        if (thread_[t].fiber) make_ready(t / lanes, 1u << t % lanes);
}

void Scheduler::fail(const std::string& sentence)
{
    throw Misuse(sentence);
}

} // namespace

void set_order(Order order)
{
    scheduler().order = order;
}

Order current_order()
{
    return scheduler().order;
}

void run(const Grid& grid, void (*body)(const void*), const void* arguments)
{
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    scheduler().run(grid, body, arguments);
}

void* block_shared()
{
    return scheduler().shared();
}

void meet_block(const std::source_location& where)
{
    scheduler().meet_block(where);
}

const uint64_t* exchange(uint64_t mine, const std::source_location& where)
{
    return scheduler().exchange(mine, where);
}

unsigned lane()
{
    return scheduler().running() % lanes;
}

void misuse(const char* what, const std::source_location& where)
{
    throw Misuse(std::string(what) + " at " + place(where));
}

} // namespace simt
