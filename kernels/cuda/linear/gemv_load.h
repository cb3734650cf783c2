// The loads of gemv: per lane, 16 bytes of a plane or, for the types of coding.h, one chunk; and their products
// with activations in shared memory.
#pragma once

#include "kernels/cuda/device/unroll.h"
#include "kernels/cuda/linear/chunk.h"

namespace palimpsest::kernels::cuda {

template<DType type>
inline constexpr int elements_of_load = is_chunked(type)      ? chunk_columns
                                        : type == DType::F32  ? 4
                                        : type == DType::Q8_0 ? 16
                                                              : 8;

// Loads 16 bytes that are read only once, without allocating in L1. Not through the read-only path (nc): the
// compiler may move such loads behind a barrier, and loads of weights must be in flight before it.
__device__ inline uint4 stream16(const void* at)
{
#ifdef __CUDACC__
    uint4 x;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(at));
    return x;
#else
    return *static_cast<const uint4*>(at);
#endif
}

// Like stream16, for 8 bytes.
__device__ inline uint2 stream8(const void* at)
{
#ifdef __CUDACC__
    uint2 x;
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(at));
    return x;
#else
    return *static_cast<const uint2*>(at);
#endif
}

// The activations of one load: float4 number j is x[j * plane]. `sums`: the sum of each group of a chunk, for
// types with an offset.
struct StagedLoad {
    const float4* x;
    const float* sums;
};

template<DType type>
struct Load {
    uint4 values;
    uint16_t scale; // f16

    __device__ void from(const PlaneRow& row, int64_t load)
    {
        values = stream16(row.values + 16 * load);
        if constexpr (type == DType::Q8_0) scale = reinterpret_cast<const uint16_t*>(row.scales)[load / 2];
    }
};

template<int words>
__device__ inline void stream_words(uint32_t (&to)[words], const unsigned char* at)
{
    static_assert(words == 1 || words == 2 || words == 4);
    if constexpr (words == 1) {
        to[0] = *reinterpret_cast<const uint32_t*>(at);
    } else if constexpr (words == 2) {
        const uint2 two = stream8(at);
        to[0] = two.x, to[1] = two.y;
    } else {
        const uint4 four = stream16(at);
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
    }
}

template<DType type>
requires(is_chunked(type)) struct Load<type> {
    static constexpr Coding coding = coding_of(type);
    uint32_t values[coding.low_bits], high[coding.high_bits > 0 ? coding.high_bits : 1];
    ChunkScales<type> scales;

    __device__ void from(const PlaneRow& row, int64_t chunk)
    {
        constexpr PlaneBytes bytes = plane_bytes(type);
        stream_words(values, row.values + chunk * bytes.values);
        if constexpr (bytes.high > 0) stream_words(high, row.high + chunk * bytes.high);
        scales.from(row, chunk);
    }
};

__device__ inline float byte_of(uint32_t word, int i)
{
    return static_cast<float>(static_cast<int8_t>(word >> (8 * i)));
}

template<DType type>
__device__ inline float half_of(uint32_t word, int i)
{
    const auto bits = static_cast<uint16_t>(word >> (16 * i));
    return type == DType::F16 ? widen_f16(bits) : widen_bf16(bits);
}

// Adds the products of a chunk of each of `lines` rows to one of the lane's four sums per row. Scale and offset
// are applied to the sum of each group, not to every weight.
template<DType type, int lines>
__device__ inline void add_chunks(float (&sums)[lines][4], const Load<type> (&w)[lines], const StagedLoad& staged,
                                  int plane, int step)
{
    constexpr Coding coding = coding_of(type);
    constexpr int group_words = chunk_words / coding.groups();
    constexpr bool has_offset = coding.has_offset();
    float products[lines] = {};
    unrolled<coding.groups()>([&](int g) {
        float partial[lines] = {};
        unrolled<group_words>([&](int word) {
            const int j = g * group_words + word;
            const float4 v = staged.x[j * plane];
            unrolled<lines>([&](int line) {
                const uint32_t codes = code_word<type>(w[line].values, w[line].high, j);
                partial[line] = fmaf(code_of<type>(codes, 0), v.x, partial[line]);
                partial[line] = fmaf(code_of<type>(codes, 1), v.y, partial[line]);
                partial[line] = fmaf(code_of<type>(codes, 2), v.z, partial[line]);
                partial[line] = fmaf(code_of<type>(codes, 3), v.w, partial[line]);
            });
        });
        unrolled<lines>([&](int line) {
            products[line] = fmaf(w[line].scales.scale(g), partial[line], products[line]);
            if constexpr (has_offset)
                products[line] = fmaf(-w[line].scales.offset(g), staged.sums[g], products[line]);
        });
    });
    unrolled<lines>([&](int line) { sums[line][step % 4] += products[line]; });
}

// Adds the products of 16 bytes of a row to a lane's four sums; x[0] is the first float4 of the activations.
template<DType type>
__device__ inline void add_products(float (&sums)[4], const Load<type>& w, const float4* x, int plane, int step)
{
    const uint32_t words[4] = {w.values.x, w.values.y, w.values.z, w.values.w};
    if constexpr (type == DType::Q8_0) {
        float partial = 0;
        for (int j = 0; j < 4; ++j) {
            const float4 v = x[j * plane];
            partial = fmaf(byte_of(words[j], 0), v.x, partial);
            partial = fmaf(byte_of(words[j], 1), v.y, partial);
            partial = fmaf(byte_of(words[j], 2), v.z, partial);
            partial = fmaf(byte_of(words[j], 3), v.w, partial);
        }
        sums[step % 4] = fmaf(widen_f16(w.scale), partial, sums[step % 4]);
    } else if constexpr (type == DType::F32) {
        const float4 v = x[0];
        sums[0] = fmaf(__uint_as_float(words[0]), v.x, sums[0]);
        sums[1] = fmaf(__uint_as_float(words[1]), v.y, sums[1]);
        sums[2] = fmaf(__uint_as_float(words[2]), v.z, sums[2]);
        sums[3] = fmaf(__uint_as_float(words[3]), v.w, sums[3]);
    } else {
        for (int j = 0; j < 2; ++j) {
            const float4 v = x[j * plane];
            sums[0] = fmaf(half_of<type>(words[2 * j], 0), v.x, sums[0]);
            sums[1] = fmaf(half_of<type>(words[2 * j], 1), v.y, sums[1]);
            sums[2] = fmaf(half_of<type>(words[2 * j + 1], 0), v.z, sums[2]);
            sums[3] = fmaf(half_of<type>(words[2 * j + 1], 1), v.w, sums[3]);
        }
    }
}

} // namespace palimpsest::kernels::cuda
