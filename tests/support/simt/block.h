// The threads of one block. Each waiting thread has a fiber of its own; the others run on one fiber, one after the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <source_location>
#include <string>

#include "tests/support/simt/fiber.h"
#include "tests/support/simt/grid.h"

namespace simt {

inline constexpr unsigned lanes = 32, max_threads = 1024, most_warps = max_threads / lanes;

enum class State : uint8_t { New, Running, AtBlock, AtWarp, AtEarlierKernels, Ended };

struct Thread {
    State state = State::New;
    Fiber* fiber = nullptr; // while waiting
    std::source_location where;
};

struct Warp {
    uint32_t members = 0, ready = 0, arrived = 0;
    unsigned turn = 0;
    uint64_t brought[2][lanes] = {};
};

class Block {
public:
    Block() = default;
    explicit Block(const Grid& grid) { set_grid(grid); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block(); // unwinds threads that wait for earlier kernels

    void set_grid(const Grid& grid); // `grid` must outlive the running blocks. Throws Misuse

    // run, begin and finish unwind the other threads after an exception in a thread, and rethrow it. `number`: of
    // the block in the grid.
    void run(uint64_t number);
    // Returns when every thread has ended, waits for earlier kernels, or waits for a thread that waits for earlier
    // kernels.
    void begin(uint64_t number);
    void finish(); // completes a block started with begin

    bool has_ended() const { return ended_ == threads_; }
    std::string name() const;
    bool lets_next_begin() const { return lets_next_begin_; }

    // Called by running threads.
    static Block& active();
    void meet_block(const std::source_location& where);
    const uint64_t* exchange(uint64_t mine, const std::source_location& where);
    void await_earlier_kernels(const std::source_location& where);
    void let_next_kernel_begin() { lets_next_begin_ = true; }
    unsigned running() const { return running_; }
    void* shared() { return shared_.get(); }

private:
    struct SharedFree {
        void operator()(std::byte* data) const { ::operator delete[](data, std::align_val_t{128}); }
    };

    static Fiber& run_threads();
    void make_new(uint64_t number);
    void run_from_host();
    void run_thread(unsigned thread);
    void make_ready(unsigned warp, uint32_t which);
    bool take_next();
    bool take_next_or_abandon();
    void wait(State state, const std::source_location& where);
    Fiber& fiber_of_next();
    void begin_to_abandon();
    std::string at(unsigned thread) const;
    std::string deadlock() const;

    unsigned threads_ = 0, warps_ = 0;
    const Grid* grid_ = nullptr;
    Thread thread_[max_threads];
    uint3 index_[max_threads] = {};
    Warp warp_[most_warps];
    uint3 block_index_ = {};
    uint32_t ready_warps_ = 0;
    unsigned running_ = 0, at_block_ = 0, at_earlier_kernels_ = 0, ended_ = 0;
    std::source_location block_where_;
    bool early_ = false, lets_next_begin_ = false, abandoned_ = false;
    std::exception_ptr failure_;
    std::unique_ptr<std::byte, SharedFree> shared_;
};

std::string place(const std::source_location& where);

} // namespace simt
