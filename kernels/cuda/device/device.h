// Device helpers for all kernels. Kernels are plain CUDA C++ and are launched only with launch(), so that the
// tests can run the same sources on the CPU (tests/support/simt).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "kernels/base/dtype.h"
#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/launch_count.h"

namespace palimpsest::kernels::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

#ifdef __CUDACC__
// The block's dynamic shared memory, 128-byte aligned.
template<class T>
__device__ inline T* dynamic_shared()
{
    extern __shared__ __align__(128) unsigned char palimpsest_shared[];
    return reinterpret_cast<T*>(palimpsest_shared);
}
__device__ inline float widen_f16(uint16_t bits)
{
    return __half2float(__ushort_as_half(bits));
}
__device__ inline uint16_t narrow_f16(float x)
{
    return __half_as_ushort(__float2half_rn(x));
}
__device__ inline uint16_t narrow_bf16(float x)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
#else
template<class T>
inline T* dynamic_shared()
{
    return static_cast<T*>(simt::block_shared());
}
inline float widen_f16(uint16_t bits)
{
    return f16_to_f32(bits);
}
inline uint16_t narrow_f16(float x)
{
    return f32_to_f16(x);
}
inline uint16_t narrow_bf16(float x)
{
    return f32_to_bf16(x);
}
#endif

__device__ inline float widen_bf16(uint16_t bits)
{
    return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// Element `i` of a row of F32, F16 or BF16 elements.
template<DType type>
__device__ inline float load(const void* row, int64_t i)
{
    if constexpr (type == DType::F32) return static_cast<const float*>(row)[i];
    const uint16_t bits = static_cast<const uint16_t*>(row)[i];
    return type == DType::F16 ? widen_f16(bits) : widen_bf16(bits);
}

template<DType type>
__device__ inline void store(void* row, int64_t i, float x)
{
    if constexpr (type == DType::F32)
        static_cast<float*>(row)[i] = x;
    else
        static_cast<uint16_t*>(row)[i] = type == DType::F16 ? narrow_f16(x) : narrow_bf16(x);
}

// Every lane gets the result; the order of the sum is fixed.
__device__ inline float warp_sum(float x)
{
    for (int reach = warp_lanes / 2; reach > 0; reach /= 2)
        x += __shfl_xor_sync(all_lanes, x, reach);
    return x;
}

__device__ inline float warp_max(float x)
{
    for (int reach = warp_lanes / 2; reach > 0; reach /= 2)
        x = fmaxf(x, __shfl_xor_sync(all_lanes, x, reach));
    return x;
}

#ifdef __CUDACC__
// Programmatic dependent launch (PTX ISA, griddepcontrol; sm_90 and later, no effect elsewhere). A kernel that
// overlaps earlier kernels must call this before it reads or writes anything of theirs.
__device__ inline void await_earlier_kernels()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Once all blocks of this kernel have called this or exited, blocks of the next kernel may start, if it overlaps.
__device__ inline void let_next_kernel_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#else
inline void await_earlier_kernels()
{
    simt::await_earlier_kernels();
}
inline void let_next_kernel_begin()
{
    simt::let_next_kernel_begin();
}
#endif

struct Launch {
    dim3 grid;
    dim3 block;
    size_t shared = 0;     // bytes of dynamic shared memory
    bool overlaps = false; // its kernel awaits the earlier kernels before it touches anything they write
};

// Asynchronous on the context's stream. Throws Error.
template<class... Parameters, class... Arguments>
void launch(CudaContext& context, const Launch& shape, void (*kernel)(Parameters...), Arguments&&... arguments)
{
    constexpr size_t usual_shared = 16 * 1024; // of the default 48 KiB: surely free beside static shared memory
    if (shape.shared > usual_shared)
        check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared)));
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared;
    config.stream = context.stream();
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &overlap;
    config.numAttrs = shape.overlaps && context.may_overlap() ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(std::forward<Arguments>(arguments))...));
    context.launched();
    count_launches(1);
}

// Calls use(std::integral_constant<DType, type>) for F32, F16 or BF16.
template<class Use>
void with_type(DType type, Use&& use)
{
    if (type == DType::F32) return use(std::integral_constant<DType, DType::F32>());
    if (type == DType::F16) return use(std::integral_constant<DType, DType::F16>());
    use(std::integral_constant<DType, DType::BF16>());
}

} // namespace palimpsest::kernels::cuda
