// Runs CUDA kernels on the CPU: blocks one after the other, one fiber per thread that has to wait.
//
// A thread runs until it waits for others, so code that misses a barrier reads what was not written yet. Stricter
// than a GPU: every thread of a block must reach the same barrier in the source, and every lane of a warp the same
// exchange, those that would have ended included. Not thread-safe.
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

// A kernel or its launch breaks a rule of CUDA, or one of the rules above.
class Misuse : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

// Which threads and blocks come first where CUDA leaves it open. Results must be the same in both.
enum class Order { Ascending, Descending };
void set_order(Order order);
Order current_order();

// A kernel as launched: body(arguments) is called once per thread.
struct Grid {
    dim3 blocks, threads;
    size_t shared_bytes = 0; // dynamic, filled with ones before every block
    void (*body)(const void*) = nullptr;
    std::shared_ptr<const void> arguments;
};

// Throws Misuse, and what the body throws.
void run(const Grid& grid);

// A grid of programmatic dependent launch, some of whose blocks begin before the kernels ahead of it run: what they
// read of those kernels before they wait is stale, and what they write is overwritten. Static shared memory is not
// kept while they wait, so a kernel writes none of it before.
class EarlyGrid {
public:
    explicit EarlyGrid(const Grid& grid); // must outlive this. Begins them, and throws what run() throws
    ~EarlyGrid();                         // unwinds them if they did not finish
    bool lets_next_begin() const { return lets_next_begin_; }
    void finish(); // them and all other blocks, once. Throws what run() throws

private:
    std::vector<uint64_t> early_;                      // their numbers
    std::vector<std::unique_ptr<class Block>> blocks_; // the same
    const Grid& grid_;
    bool lets_next_begin_ = true;
};

// For kernels only.
void* block_shared(); // 128-byte aligned
void meet_block(const std::source_location& where);
// What the lanes of the warp brought, [32]; good until the lane brings something again.
const uint64_t* exchange(uint64_t mine, const std::source_location& where);
unsigned lane();
void await_earlier_kernels(const std::source_location& where = std::source_location::current());
void let_next_kernel_begin();
[[noreturn]] void misuse(const char* what, const std::source_location& where);

} // namespace simt
