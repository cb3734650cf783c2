// Asynchronous copies from device memory to a block's shared memory, which overlap with computation (cp.async,
// sm_80 and later). On older devices they are plain copies, complete when copy16 returns.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace palimpsest::kernels::cuda {

struct alignas(16) Bytes16 {
    uint32_t words[4];
};

// Copies 16 bytes. REQUIRES: both addresses are multiples of 16.
__device__ inline void copy16(void* shared, const void* global)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(to), "l"(global) : "memory");
#else
    *static_cast<Bytes16*>(shared) = *static_cast<const Bytes16*>(global);
#endif
}

// Like copy16, but writes 16 zero bytes unless `copies`. `global` must be readable in both cases.
__device__ inline void copy16_or_zero(void* shared, const void* global, bool copies)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
    const int bytes = copies ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#else
    *static_cast<Bytes16*>(shared) = copies ? *static_cast<const Bytes16*>(global) : Bytes16{};
#endif
}

// Closes the thread's current group of copies.
__device__ inline void commit()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

// Waits until all of the thread's groups but the newest `pending` are complete. Other threads see the copied bytes
// only after a __syncthreads() that follows.
template<int pending>
__device__ inline void wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;\n" ::"n"(pending) : "memory");
#endif
}

} // namespace palimpsest::kernels::cuda
