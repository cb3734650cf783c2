// Quantisation to the bytes and scales of Q8_0, bit for bit like from_f32 of base/convert.h.
#pragma once

#include "kernels/cuda/attention/kv_list.h"

namespace palimpsest::kernels::cuda {

// Bits of |x|, which compare in the order of the magnitudes; NaN is the greatest.
__device__ inline uint32_t magnitude(float x)
{
    return __float_as_uint(x) & 0x7fffffffu;
}

// f16 bits of a block's scale, from the bits of its largest magnitude.
__device__ inline uint16_t block_scale(uint32_t largest)
{
    const uint16_t scale = narrow_f16(__fdiv_rn(__uint_as_float(largest), 127.0f));
    return scale < 0x7c00u ? scale : uint16_t{0x7e00};
}

// `step`: the block's scale in f32.
__device__ inline int8_t block_byte(float x, float step)
{
    if (!(step > 0)) return 0;
    return static_cast<int8_t>(__float2int_rn(fminf(fmaxf(__fdiv_rn(x, step), -127.0f), 127.0f)));
}

// Stores element `i` of a row. For Q8_0, all lanes of a warp call together, each with another element of one block.
template<DType type>
__device__ inline void store_element(const KvRow& row, int32_t i, float x)
{
    if constexpr (type == DType::Q8_0) {
        static_assert(scaled_elements == warp_lanes);
        uint32_t largest = magnitude(x);
        for (int reach = warp_lanes / 2; reach > 0; reach /= 2) {
            const uint32_t other = __shfl_xor_sync(all_lanes, largest, reach);
            largest = largest > other ? largest : other;
        }
        const uint16_t scale = block_scale(largest);
        reinterpret_cast<int8_t*>(row.elements)[i] = block_byte(x, widen_f16(scale));
        if (i % scaled_elements == 0) reinterpret_cast<uint16_t*>(row.scales)[i / scaled_elements] = scale;
    } else {
        store<type>(row.elements, i, x);
    }
}

} // namespace palimpsest::kernels::cuda
