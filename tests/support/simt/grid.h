// Runs CUDA kernels on the CPU: blocks run one after the other, with a fiber for every thread that has to wait.
//
// A thread runs until it waits for others, so code with a missing barrier reads values that are not written yet.
// Stricter than a GPU: all threads of a block must reach the same barrier in the source, and all lanes of a warp
// the same exchange, including lanes that would have exited. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <vector>

#include "tests/support/simt/vector_types.h"

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace simt {

// Thrown if a kernel or its launch violates a rule of CUDA, or one of the stricter rules above.
class Misuse : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

// The order in which threads and blocks run, which CUDA leaves open. The results of a kernel must be the same in
// both orders.
enum class Order { Ascending, Descending };
void set_order(Order order);
Order current_order();

// A launched kernel: body(arguments) is called once per thread.
struct Grid {
    dim3 blocks, threads;
    size_t shared_bytes = 0; // dynamic; filled with 0xff bytes before every block
    void (*body)(const void*) = nullptr;
    std::shared_ptr<const void> arguments;
};

// Runs all blocks. Throws Misuse, and exceptions of the body.
void run(const Grid& grid);

// A grid with programmatic dependent launch. Its first and last block begin before the preceding kernels run: if a
// block reads what these kernels write before it waits for them, the data is stale; what it writes too early is
// overwritten. Static shared memory is not preserved while a block waits, so a kernel must not write it before.
class EarlyGrid {
public:
    explicit EarlyGrid(const Grid& grid); // must outlive this. Starts the blocks; throws like run()
    ~EarlyGrid();                         // unwinds unfinished blocks
    bool lets_next_begin() const { return lets_next_begin_; }
    void finish(); // runs the rest of these two blocks, and all others; call once. Throws like run()

private:
    std::vector<uint64_t> early_;                      // block numbers
    std::vector<std::unique_ptr<class Block>> blocks_; // the blocks with these numbers
    const Grid& grid_;
    bool lets_next_begin_ = true;
};

// For kernels only.
void* block_shared(); // 128-byte aligned
void meet_block(const std::source_location& where);
// Exchanges a value with all lanes of the warp: returns their values, [32], valid until the lane's next exchange.
const uint64_t* exchange(uint64_t mine, const std::source_location& where);
unsigned lane();
void await_earlier_kernels(const std::source_location& where = std::source_location::current());
void let_next_kernel_begin();
[[noreturn]] void misuse(const char* what, const std::source_location& where);

} // namespace simt
