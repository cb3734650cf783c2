// Where the rows of one KV head's list lie in the pool, and rows in whole vectors, for device code.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/async_copy.h"
#include "kernels/cuda/device.h"

namespace palimpsest::kernels::cuda {

template<DType type>
inline constexpr int element_bytes = type == DType::F32 ? 4 : 2;

template<DType type>
inline constexpr int vector_elements = 16 / element_bytes<type>; // that 16 bytes hold

// Rank j of a list lies in row order[j]; in row j where prefill requires it.
struct KvList {
    KvPool pool;
    const uint32_t* pages = nullptr;
    uint32_t* order = nullptr;
    int64_t row_bytes = 0;

    __device__ int64_t offset(int64_t row) const
    {
        return (static_cast<int64_t>(pages[row / page_rows]) * page_rows + row % page_rows) * row_bytes;
    }
    __device__ std::byte* key(int64_t row) const { return pool.keys + offset(row); }
    __device__ std::byte* value(int64_t row) const { return pool.values + offset(row); }
};

template<DType type>
__device__ inline KvList list_of(const KvPool& pool, const KvLists& lists, int64_t head, int32_t head_dim)
{
    return {pool, lists.pages + head * lists.page_stride, lists.order + head * lists.order_stride,
            int64_t{head_dim} * element_bytes<type>};
}

// Elements [i, i + vector_elements) of a row. REQUIRES: they begin at a multiple of 16 bytes.
template<DType type>
__device__ inline void load_vector(const void* row, int64_t i, float* to)
{
    const Bytes16 bytes =
        *reinterpret_cast<const Bytes16*>(static_cast<const std::byte*>(row) + i * element_bytes<type>);
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        const uint32_t bits = bytes.words[word];
        if constexpr (type == DType::F32) {
            to[word] = __uint_as_float(bits);
        } else if constexpr (type == DType::F16) {
            to[2 * word] = widen_f16(static_cast<uint16_t>(bits & 0xffff));
            to[2 * word + 1] = widen_f16(static_cast<uint16_t>(bits >> 16));
        } else {
            to[2 * word] = __uint_as_float(bits << 16);
            to[2 * word + 1] = __uint_as_float(bits & 0xffff0000u);
        }
    }
}

} // namespace palimpsest::kernels::cuda
