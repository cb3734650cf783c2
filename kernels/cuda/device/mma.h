// Tensor-core products of one warp: 16 x 16 by 16 x 8 of 16-bit operands, summed in f32.
//
// Fragments are those of the PTX ISA (warp-level matrix instructions, mma.m16n8k16). With group = lane / 4 and
// pair = 2 * (lane % 4), every lane holds
//   A, 16 x 16:  a[0] (group, pair), a[1] (group + 8, pair), a[2] (group, pair + 8), a[3] (group + 8, pair + 8)
//   B, 16 x 8:   b[0] (pair, group), b[1] (pair + 8, group)
//   C, 16 x 8:   c[0], c[1] (group, pair), c[2], c[3] (group + 8, pair)
// as (row, column). A register of A has two elements of one row side by side, a register of B two of one column,
// the first in the low half. C of one product, packed, is therefore half of A of the next: a = {pack(c0, c1),
// pack(c2, c3), and the same of the 8 columns to the right}.
//
// All lanes of a warp must call together. Without nvcc, plain arithmetic computes the same, in ascending order of
// the summed index.
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

inline constexpr int mma_m = 16, mma_n = 8, mma_k = 16;

#ifdef __CUDACC__

// Two elements of F16 or BF16 in one register.
template<DType type>
__device__ inline uint32_t pack(float low, float high)
{
    static_assert(type == DType::F16 || type == DType::BF16);
    uint32_t both;
    if constexpr (type == DType::F16) {
        const __half2 x = __floats2half2_rn(low, high);
        __builtin_memcpy(&both, &x, sizeof both);
    } else {
        const __nv_bfloat162 x = __floats2bfloat162_rn(low, high);
        __builtin_memcpy(&both, &x, sizeof both);
    }
    return both;
}

// Loads four 8 x 8 matrices of 16-bit elements from shared memory. Lane l passes the address of row l % 8 of
// matrix l / 8 (16 bytes, aligned); matrix[i] receives element (lane / 4, 2 * (lane % 4)) of matrix i and the one
// to its right.
__device__ inline void load_matrices(uint32_t (&matrix)[4], const void* row)
{
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
                 : "r"(address)
                 : "memory");
}

// Like load_matrices, each matrix transposed.
__device__ inline void load_transposed_matrices(uint32_t (&matrix)[4], const void* row)
{
    const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
                 : "r"(address)
                 : "memory");
}

// c += the left 8 columns of A by the upper 8 rows of B; sm_75 has only this.
__device__ inline void add_half_product_f16(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t b0)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(b0));
}

// c += A B, operands of F16 or BF16. BF16 requires compute capability 8.0; below, the kernel traps.
template<DType type>
__device__ inline void add_product(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    static_assert(type == DType::F16 || type == DType::BF16);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    if constexpr (type == DType::F16)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    if constexpr (type == DType::F16) {
        add_half_product_f16(c, a[0], a[1], b[0]);
        add_half_product_f16(c, a[2], a[3], b[1]);
    } else {
        __trap();
    }
#endif
}

#else

template<DType type>
inline uint32_t pack(float low, float high)
{
    static_assert(type == DType::F16 || type == DType::BF16);
    if constexpr (type == DType::F16)
        return narrow_f16(low) | static_cast<uint32_t>(narrow_f16(high)) << 16;
    else
        return narrow_bf16(low) | static_cast<uint32_t>(narrow_bf16(high)) << 16;
}

namespace portable {

// What the lanes of one warp exchange: four words each.
struct Exchange {
    static constexpr int most_warps = 32;
    uint64_t words[warp_lanes][4];
};

inline int thread_of_block()
{
    return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
}

// Calls use(words of all lanes) after every lane has written its own with fill(words).
template<class Fill, class Use>
void exchange(Fill&& fill, Use&& use)
{
    __shared__ Exchange exchanges[Exchange::most_warps];
    Exchange& mine = exchanges[thread_of_block() / warp_lanes];
    fill(mine.words[thread_of_block() % warp_lanes]);
    __syncwarp(all_lanes);
    use(mine.words);
    __syncwarp(all_lanes);
}

inline void load_matrices(uint32_t (&matrix)[4], const void* row, bool transposed)
{
    const int lane = thread_of_block() % warp_lanes;
    const int first = lane / 4, second = 2 * (lane % 4);
    exchange([&](uint64_t* words) { words[0] = reinterpret_cast<uintptr_t>(row); },
             [&](const uint64_t(*words)[4]) {
                 const auto at = [&](int m, int r, int c) -> uint32_t {
                     return reinterpret_cast<const uint16_t*>(words[8 * m + r][0])[c];
                 };
                 for (int m = 0; m < 4; ++m)
                     matrix[m] = transposed ? at(m, second, first) | at(m, second + 1, first) << 16
                                            : at(m, first, second) | at(m, first, second + 1) << 16;
             });
}

template<DType type>
float element(uint64_t word, int half)
{
    const auto bits = static_cast<uint16_t>(word >> (16 * half));
    return type == DType::F16 ? widen_f16(bits) : widen_bf16(bits);
}

} // namespace portable

inline void load_matrices(uint32_t (&matrix)[4], const void* row)
{
    portable::load_matrices(matrix, row, false);
}

inline void load_transposed_matrices(uint32_t (&matrix)[4], const void* row)
{
    portable::load_matrices(matrix, row, true);
}

template<DType type>
inline void add_product(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    static_assert(type == DType::F16 || type == DType::BF16);
    using portable::element;
    const int lane = portable::thread_of_block() % warp_lanes;
    const auto fill = [&](uint64_t* words) {
        words[0] = a[0] | static_cast<uint64_t>(a[2]) << 32;
        words[1] = a[1] | static_cast<uint64_t>(a[3]) << 32;
        words[2] = b[0] | static_cast<uint64_t>(b[1]) << 32;
    };
    // Words 0 and 1 hold rows `group` and `group + 8` of A: columns pair, pair + 1, pair + 8, pair + 9.
    portable::exchange(fill, [&](const uint64_t(*words)[4]) {
        for (int i = 0; i < 4; ++i) {
            const int row_lane = lane / 4 * 4, column_lane = (2 * (lane % 4) + i % 2) * 4;
            for (int k = 0; k < mma_k; ++k) {
                const int holder = k % 8 / 2, half = 2 * (k / 8) + k % 2;
                c[i] += element<type>(words[row_lane + holder][i / 2], half) *
                        element<type>(words[column_lane + holder][2], half);
            }
        }
    });
}

#endif

} // namespace palimpsest::kernels::cuda
