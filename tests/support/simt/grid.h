// Runs CUDA kernels on the CPU: blocks one after the other, one fiber per thread that has to wait.
//
// A thread runs until it waits for others, so code that misses a barrier reads what was not written yet. Stricter
// than a GPU: every thread of a block must reach the same barrier in the source, and every lane of a warp the same
// exchange, those that would have ended included. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>

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

struct Grid {
    dim3 blocks, threads;
    size_t shared_bytes = 0; // dynamic, filled with ones before every block
};

// Calls body(arguments) once per thread of the grid. Throws Misuse, and what the body throws.
void run(const Grid& grid, void (*body)(const void*), const void* arguments);

// For kernels only.
void* block_shared(); // 128-byte aligned
void meet_block(const std::source_location& where);
// What the lanes of the warp brought, [32]; good until the lane brings something again.
const uint64_t* exchange(uint64_t mine, const std::source_location& where);
unsigned lane();
[[noreturn]] void misuse(const char* what, const std::source_location& where);

} // namespace simt
