// The rows of one KV head's list in the pool (kv_page.h), and vector loads of rows, in device code.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/async_copy.h"
#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

inline constexpr int scaled_elements = 32; // Q8_0 elements that share a scale
inline constexpr int64_t bytes_of_scale = 2;

template<DType type>
inline constexpr int element_bytes = type == DType::F32    ? 4
                                     : type == DType::Q8_0 ? 1
                                                           : 2;

// Elements that a thread loads at once: 16 bytes or, of Q8_0, 8 bytes. Eight elements need the same registers once
// widened, whether they were stored in 8 or 16 bits.
template<DType type>
inline constexpr int vector_elements = type == DType::F32 ? 4 : 8;

// A row of keys or values, in a pool or in the staging buffer.
struct KvRow {
    std::byte* elements = nullptr;
    std::byte* scales = nullptr; // Q8_0 only
};

template<DType type>
__device__ inline KvRow staged_row(std::byte* rows, int64_t row, int32_t dim)
{
    return {rows + row * dim * element_bytes<type>, nullptr};
}

// Returns row `place` of a pool's keys or values; places number the rows of all pages.
template<DType type>
__device__ inline KvRow pool_row(std::byte* pool, int64_t place, int32_t dim)
{
    if constexpr (type != DType::Q8_0) {
        return staged_row<type>(pool, place, dim);
    } else {
        const int32_t scale_bytes = dim / scaled_elements * bytes_of_scale;
        std::byte* page = pool + place / page_rows * page_rows * (dim + scale_bytes);
        const int64_t row = place % page_rows;
        return {page + row * dim, page + int64_t{page_rows} * dim + row * scale_bytes};
    }
}

// Maps rows of a list to rows of the pool. Row order[j] of the list holds rank j; in prefill, row j does.
struct KvList {
    KvPool pool;
    const uint32_t* pages = nullptr;
    uint32_t* order = nullptr;
    int32_t dim = 0;

    __device__ int64_t place(int64_t row) const
    {
        return static_cast<int64_t>(pages[row / page_rows]) * page_rows + row % page_rows;
    }
    template<DType type>
    __device__ KvRow key(int64_t row) const
    {
        return pool_row<type>(pool.keys, place(row), dim);
    }
    template<DType type>
    __device__ KvRow value(int64_t row) const
    {
        return pool_row<type>(pool.values, place(row), dim);
    }
};

__device__ inline KvList list_of(const KvPool& pool, const KvLists& lists, int64_t head, int32_t head_dim)
{
    return {pool, lists.pages + head * lists.page_stride, lists.order + head * lists.order_stride, head_dim};
}

template<DType type>
__device__ inline float load(const KvRow& row, int64_t i)
{
    if constexpr (type == DType::Q8_0) {
        const float scale = widen_f16(reinterpret_cast<const uint16_t*>(row.scales)[i / scaled_elements]);
        return scale * static_cast<float>(reinterpret_cast<const int8_t*>(row.elements)[i]);
    } else {
        return load<type>(row.elements, i);
    }
}

// Loads elements [i, i + vector_elements) of a row and widens them to f32. REQUIRES: i is a multiple of
// vector_elements; the address of element i is a multiple of 16.
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

// A vector of a row, not widened yet, so that many loads can be in flight. REQUIRES: as load_vector; Q8_0: the
// address is a multiple of 8.
template<DType type>
struct KvVector {
    Bytes16 bytes;

    __device__ void from(const KvRow& row, int64_t i)
    {
        bytes = *reinterpret_cast<const Bytes16*>(row.elements + i * element_bytes<type>);
    }
    __device__ void widen(float* to) const { load_vector<type>(&bytes, 0, to); }
};

template<>
struct KvVector<DType::Q8_0> {
    uint2 bytes;
    uint16_t scale;

    __device__ void from(const KvRow& row, int64_t i)
    {
        bytes = *reinterpret_cast<const uint2*>(row.elements + i);
        scale = reinterpret_cast<const uint16_t*>(row.scales)[i / scaled_elements];
    }
    __device__ void widen(float* to) const
    {
        const float wide = widen_f16(scale);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const uint32_t word = j < 4 ? bytes.x : bytes.y;
            to[j] = wide * static_cast<float>(static_cast<int8_t>(word >> j % 4 * 8 & 0xff));
        }
    }
};

template<DType type>
__device__ inline void load_vector(const KvRow& row, int64_t i, float* to)
{
    KvVector<type> vector;
    vector.from(row, i);
    vector.widen(to);
}

template<DType type>
using OfType = std::integral_constant<DType, type>;

// Calls use(OfType<pool>()). REQUIRES: F32, F16, BF16 or Q8_0.
template<class Use>
void with_pool_type(DType pool, Use&& use)
{
    if (pool == DType::Q8_0) return use(OfType<DType::Q8_0>());
    with_type(pool, use);
}

// Calls use(OfType<pool>(), OfType<staged>()), with the types of the pool and of its staging buffer.
template<class Use>
void with_types(DType pool, DType staged, Use&& use)
{
    if (pool != DType::Q8_0) return with_type(pool, [&](auto type) { use(type, type); });
    if (staged == DType::F16) return use(OfType<DType::Q8_0>(), OfType<DType::F16>());
    use(OfType<DType::Q8_0>(), OfType<DType::BF16>());
}

} // namespace palimpsest::kernels::cuda
