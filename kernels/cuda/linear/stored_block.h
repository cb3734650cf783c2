// Blocks of quantised weights as files store them (kernels/base/quantised_blocks.h), decoded for the planes of
// coding.h: the code of an element, and the bytes of `scales` and `factors`.
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/linear/coding.h"

namespace palimpsest::kernels::cuda {

// Code i of 32 nibbles in 16 bytes.
__device__ inline uint32_t nibble_of(const uint8_t* q, int i)
{
    return q[i % 16] >> (i / 16 * 4) & 15u;
}

// Two-bit code i. Every 32 bytes hold 128 codes: code i is in byte i % 32 of its 32 bytes, at bit
// 2 * (i / 32 % 4).
__device__ inline uint32_t bits_of(const uint8_t* q, int i)
{
    return q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3u;
}

__device__ inline uint32_t two_halves(uint32_t low, uint32_t high)
{
    return low | high << 16;
}

// The signed byte of a six-bit scale, which is stored plus 32.
__device__ inline uint32_t signed_scale(uint32_t scale)
{
    return static_cast<uint8_t>(static_cast<int>(scale) - 32);
}

template<DType type>
struct Stored;

// Base of the types whose blocks have 32 elements and one scale, without factors.
template<class OfType>
struct SmallBlock {
    using Block = OfType;
    __device__ static uint32_t factors(const Block&) { return 0; }
};

template<class OfType>
struct FourBits : SmallBlock<OfType> {
    __device__ static uint32_t code(const OfType& b, int i) { return nibble_of(b.q, i); }
};

template<class OfType>
struct FiveBits : SmallBlock<OfType> {
    __device__ static uint32_t code(const OfType& b, int i)
    {
        return nibble_of(b.q, i) | (b.fifth[i / 8] >> (i % 8) & 1u) << 4;
    }
};

template<class Bits>
struct OneScale : Bits {
    __device__ static uint32_t scales(const typename Bits::Block& b, int) { return b.d; }
};

template<class Bits>
struct ScaleAndOffset : Bits {
    __device__ static uint32_t scales(const typename Bits::Block& b, int) { return two_halves(b.d, b.m); }
};

template<>
struct Stored<DType::Q4_0> : OneScale<FourBits<BlockQ4_0>> {
};
template<>
struct Stored<DType::IQ4_NL> : OneScale<FourBits<BlockIQ4_NL>> {
};
template<>
struct Stored<DType::Q5_0> : OneScale<FiveBits<BlockQ5_0>> {
};
template<>
struct Stored<DType::Q4_1> : ScaleAndOffset<FourBits<BlockQ4_1>> {
};
template<>
struct Stored<DType::Q5_1> : ScaleAndOffset<FiveBits<BlockQ5_1>> {
};

template<>
struct Stored<DType::MXFP4> : FourBits<BlockMXFP4> {
    __device__ static uint32_t scales(const BlockMXFP4& b, int) { return b.exponent; }
};

template<>
struct Stored<DType::Q2_K> {
    using Block = BlockQ2_K;
    __device__ static uint32_t code(const Block& b, int i) { return bits_of(b.q, i); }
    __device__ static uint32_t scales(const Block& b, int chunk)
    {
        return b.scales[2 * chunk] | static_cast<uint32_t>(b.scales[2 * chunk + 1]) << 8;
    }
    __device__ static uint32_t factors(const Block& b) { return two_halves(b.d, b.m); }
};

template<>
struct Stored<DType::Q3_K> {
    using Block = BlockQ3_K;
    __device__ static uint32_t code(const Block& b, int i)
    {
        return bits_of(b.q, i) | (b.third[i % 32] >> (i / 32) & 1u) << 2;
    }
    __device__ static uint32_t scales(const Block& b, int chunk)
    {
        return scale(b, 2 * chunk) | scale(b, 2 * chunk + 1) << 8;
    }
    __device__ static uint32_t factors(const Block& b) { return b.d; }

private:
    __device__ static uint32_t scale(const Block& b, int g)
    {
        return signed_scale((b.scales[g % 8] >> (g / 8 * 4) & 15u) | (b.scales[8 + g % 4] >> (g / 4 * 2) & 3u)
                                                                         << 4);
    }
};

// Q4_K, and Q5_K without its fifth bit.
template<class OfType>
struct SixBitPairs {
    using Block = OfType;
    __device__ static uint32_t low_bits(const Block& b, int i)
    {
        return b.q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15u;
    }
    __device__ static uint32_t scales(const Block& b, int g)
    {
        const uint8_t* s = b.scales;
        const uint32_t scale = g < 4 ? s[g] & 63u : (s[g + 4] & 15u) | (s[g - 4] >> 6) << 4;
        const uint32_t minimum = g < 4 ? s[g + 4] & 63u : s[g + 4] >> 4 | (s[g] >> 6) << 4;
        return scale | minimum << 8;
    }
    __device__ static uint32_t factors(const Block& b) { return two_halves(b.d, b.m); }
};

template<>
struct Stored<DType::Q4_K> : SixBitPairs<BlockQ4_K> {
    __device__ static uint32_t code(const Block& b, int i) { return low_bits(b, i); }
};

template<>
struct Stored<DType::Q5_K> : SixBitPairs<BlockQ5_K> {
    __device__ static uint32_t code(const Block& b, int i)
    {
        return low_bits(b, i) | (b.fifth[i % 32] >> (i / 32) & 1u) << 4;
    }
};

template<>
struct Stored<DType::Q6_K> {
    using Block = BlockQ6_K;
    __device__ static uint32_t code(const Block& b, int i)
    {
        return (b.low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15u) | bits_of(b.high, i) << 4;
    }
    __device__ static uint32_t scales(const Block& b, int chunk)
    {
        return static_cast<uint8_t>(b.scales[2 * chunk]) |
               static_cast<uint32_t>(static_cast<uint8_t>(b.scales[2 * chunk + 1])) << 8;
    }
    __device__ static uint32_t factors(const Block& b) { return b.d; }
};

template<>
struct Stored<DType::IQ4_XS> {
    using Block = BlockIQ4_XS;
    __device__ static uint32_t code(const Block& b, int i) { return nibble_of(b.q + i / 32 * 16, i % 32); }
    __device__ static uint32_t scales(const Block& b, int g)
    {
        return signed_scale((b.low_scales[g / 2] >> (g % 2 * 4) & 15u) | (b.high_scales >> (2 * g) & 3u) << 4);
    }
    __device__ static uint32_t factors(const Block& b) { return b.d; }
};

} // namespace palimpsest::kernels::cuda
