#include "tests/support/simt/block.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace simt {
namespace {

struct Abandoned {}; // thrown in the threads of a block that cannot continue, to unwind them

// Fibers of all blocks; only one block runs at a time.
struct Fibers {
    Block* active = nullptr;
    Fiber* host = nullptr; // the caller of the active block
    Fiber* current = nullptr;
    std::vector<std::unique_ptr<Fiber>> all;
    std::vector<Fiber*> idle;

    void go_on(Fiber& fiber)
    {
        Fiber& from = *std::exchange(current, &fiber);
        if (&from != &fiber) fiber.resume_from(from);
    }
};

Fibers& fibers()
{
    static Fibers* const one = new Fibers; // never destroyed, because fibers do not end
    return *one;
}

bool same(const std::source_location& a, const std::source_location& b)
{
    return a.line() == b.line() && a.column() == b.column() && std::string_view(a.file_name()) == b.file_name();
}

} // namespace

std::string place(const std::source_location& where)
{
    const std::string file = where.file_name();
    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

Block::~Block()
{
    if (at_earlier_kernels_ == 0 || has_ended()) return;
    abandoned_ = true;
    begin_to_abandon();
    run_from_host();
}

Block& Block::active()
{
    return *fibers().active;
}

void Block::set_grid(const Grid& grid)
{
    grid_ = &grid;
    const dim3& size = grid.threads;
    threads_ = size.x * size.y * size.z;
    if (threads_ == 0 || threads_ > max_threads)
        throw Misuse("a block has " + std::to_string(threads_) + " threads");
    warps_ = (threads_ + lanes - 1) / lanes;
    for (unsigned t = 0; t < threads_; ++t)
        index_[t] = {t % size.x, t / size.x % size.y, t / size.x / size.y};
    shared_.reset(static_cast<std::byte*>(::operator new[](grid.shared_bytes, std::align_val_t{128})));
}

void Block::run(uint64_t number)
{
    make_new(number);
    run_from_host();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::begin(uint64_t number)
{
    early_ = true;
    run(number);
}

void Block::finish()
{
    early_ = false;
    at_earlier_kernels_ = 0;
    for (unsigned t = 0; t < threads_; ++t)
        if (thread_[t].state == State::AtEarlierKernels) make_ready(t / lanes, 1u << t % lanes);
    run_from_host();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Block::make_new(uint64_t number)
{
    const dim3& blocks = grid_->blocks;
    block_index_ = {static_cast<unsigned>(number % blocks.x), static_cast<unsigned>(number / blocks.x % blocks.y),
                    static_cast<unsigned>(number / blocks.x / blocks.y)};
    std::fill_n(shared_.get(), grid_->shared_bytes, std::byte{0xff});
    std::fill_n(thread_, threads_, Thread{});
    for (unsigned w = 0; w < warps_; ++w) {
        warp_[w] = {};
        const unsigned members = std::min(lanes, threads_ - w * lanes);
        warp_[w].members = members == lanes ? ~0u : (1u << members) - 1;
        make_ready(w, warp_[w].members);
    }
    at_block_ = at_earlier_kernels_ = ended_ = 0;
    lets_next_begin_ = abandoned_ = false;
    failure_ = nullptr;
    running_ = current_order() == Order::Ascending ? 0 : threads_ - 1;
}

// Runs until no thread can continue.
void Block::run_from_host()
{
    Fiber host;
    Fibers& all = fibers();
    all.active = this;
    all.host = all.current = &host;
    blockIdx = block_index_;
    blockDim = grid_->threads;
    gridDim = grid_->blocks;
    if (take_next()) all.go_on(fiber_of_next());
}

void Block::make_ready(unsigned warp, uint32_t which)
{
    warp_[warp].ready |= which;
    if (warp_[warp].ready) ready_warps_ |= 1u << warp;
}

// Chooses the next thread that can run; prefers lanes of the same warp, so that they reach their exchange together.
bool Block::take_next()
{
    if (ready_warps_ == 0) return false;
    const Order order = current_order();
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

// Like take_next; on a deadlock, unwinds the waiting threads. Returns false if no thread can continue before
// earlier kernels have run, or all have ended.
bool Block::take_next_or_abandon()
{
    if (take_next()) return true;
    if (has_ended() || (at_earlier_kernels_ > 0 && !abandoned_)) return false;
    begin_to_abandon();
    return take_next();
}

Fiber& Block::fiber_of_next()
{
    if (thread_[running_].fiber) return *thread_[running_].fiber;
    Fibers& all = fibers();
    if (all.idle.empty()) {
        all.all.push_back(std::make_unique<Fiber>(run_threads));
        return *all.all.back();
    }
    Fiber& fiber = *all.idle.back();
    all.idle.pop_back();
    return fiber;
}

// Body of every fiber: runs new threads of the active block, until the next thread to run is one that waits on
// another fiber.
Fiber& Block::run_threads()
{
    Fibers& all = fibers();
    for (;;) {
        Block& block = active();
        block.run_thread(block.running_);
        const bool more = block.take_next_or_abandon();
        Fiber* const next = more ? block.thread_[block.running_].fiber : all.host;
        if (!next) continue;
        all.idle.push_back(all.current);
        all.go_on(*next);
    }
}

void Block::run_thread(unsigned thread)
{
    if (!abandoned_) {
        thread_[thread].state = State::Running;
        try {
            grid_->body(grid_->arguments.get());
        } catch (const Abandoned&) {
        } catch (...) {
            if (!failure_) failure_ = std::current_exception();
            abandoned_ = true;
        }
    }
    thread_[thread].state = State::Ended;
    ++ended_;
}

void Block::wait(State state, const std::source_location& where)
{
    Fibers& all = fibers();
    const unsigned self = running_;
    thread_[self] = {state, all.current, where};
    all.go_on(take_next_or_abandon() ? fiber_of_next() : *all.host);
    thread_[self].fiber = nullptr;
    thread_[self].state = State::Running;
    if (abandoned_) throw Abandoned{};
}

void Block::await_earlier_kernels(const std::source_location& where)
{
    if (abandoned_) throw Abandoned{};
    if (!early_) return;
    ++at_earlier_kernels_;
    wait(State::AtEarlierKernels, where);
}

void Block::meet_block(const std::source_location& where)
{
    if (abandoned_) throw Abandoned{};
    if (at_block_ > 0 && !same(block_where_, where))
        throw Misuse("thread " + std::to_string(running_) + " is at the barrier of " + place(where) +
                     " while others of its block wait at the one of " + place(block_where_));
    block_where_ = where;
    if (++at_block_ < threads_) return wait(State::AtBlock, where);
    at_block_ = 0;
    for (unsigned w = 0; w < warps_; ++w) {
        const uint32_t self = w == running_ / lanes ? 1u << running_ % lanes : 0;
        make_ready(w, warp_[w].members & ~self);
    }
}

const uint64_t* Block::exchange(uint64_t mine, const std::source_location& where)
{
    if (abandoned_) throw Abandoned{};
    const unsigned self = running_ % lanes, w = running_ / lanes;
    Warp& warp = warp_[w];
    if (warp.arrived != 0) {
        const Thread& other = thread_[w * lanes + static_cast<unsigned>(std::countr_zero(warp.arrived))];
        if (!same(other.where, where))
            throw Misuse("thread " + std::to_string(running_) + " is at the warp operation of " + place(where) +
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

std::string Block::name() const
{
    const uint3& at = block_index_;
    return "block (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

std::string Block::at(unsigned thread) const
{
    const Thread& t = thread_[thread];
    const std::string who = "thread " + std::to_string(thread);
    if (t.state == State::Ended) return who + " has ended";
    return who + " waits at the " + (t.state == State::AtBlock ? "barrier" : "warp operation") + " of " +
           place(t.where);
}

// The message for a deadlock: names a waiting thread, and a thread that it waits for in vain.
std::string Block::deadlock() const
{
    const auto first = [&](unsigned from, unsigned to, auto&& which) {
        return static_cast<unsigned>(std::find_if(thread_ + from, thread_ + to, which) - thread_);
    };
    const auto waits_at = [](State state) { return [state](const Thread& t) { return t.state == state; }; };
    const std::string block = name() + " cannot go on: ";
    const unsigned lane = first(0, threads_, waits_at(State::AtWarp));
    if (lane == threads_) {
        const unsigned waiting = first(0, threads_, waits_at(State::AtBlock));
        return block + at(waiting) + ", but " + at(first(0, threads_, waits_at(State::Ended)));
    }
    const unsigned begin = lane / lanes * lanes, end = std::min(begin + lanes, threads_);
    const unsigned missing = first(begin, end, [](const Thread& t) { return t.state != State::AtWarp; });
    return block + at(lane) + (missing < end ? ", but " + at(missing) : ", whose warp is not full");
}

// Called if no thread can run and not all have ended: unwinds the waiting threads.
void Block::begin_to_abandon()
{
    if (!failure_ && !abandoned_) failure_ = std::make_exception_ptr(Misuse(deadlock()));
    abandoned_ = true;
    for (unsigned t = 0; t < threads_; ++t)
        if (thread_[t].fiber) make_ready(t / lanes, 1u << t % lanes);
}

} // namespace simt
