#include "kernels/base/dequantise.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::kernels {
namespace {

// These functions unpack element i from the bytes of a block. They return int, so that offsets can be subtracted.
int nibble(const uint8_t* q, int i) // 32 elements in 16 bytes
{
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

int bit(const uint8_t* bits, int i)
{
    return bits[i / 8] >> (i % 8) & 1;
}

int pair(const uint8_t* q, int i) // 256 elements in 64 bytes
{
    return q[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
}

// Scale and minimum of a group of elements.
struct Group {
    float scale, minimum;
};

Group group_of(const BlockQ2_K& b, int g)
{
    return {f16_to_f32(b.d) * static_cast<float>(b.scales[g] & 15),
            f16_to_f32(b.m) * static_cast<float>(b.scales[g] >> 4)};
}

// Group g of Q4_K or Q5_K, which pack their scales in the same way.
template<class Block>
Group six_bit_group_of(const Block& b, int g)
{
    const uint8_t* s = b.scales;
    const int scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
    const int minimum = g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | (s[g] >> 6) << 4;
    return {f16_to_f32(b.d) * static_cast<float>(scale), f16_to_f32(b.m) * static_cast<float>(minimum)};
}

void widen(const BlockQ4_0& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>(nibble(b.q, i) - 8);
}

void widen(const BlockQ4_1& b, float* to)
{
    const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>(nibble(b.q, i)) + m;
}

void widen(const BlockQ5_0& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>((nibble(b.q, i) | bit(b.fifth, i) << 4) - 16);
}

void widen(const BlockQ5_1& b, float* to)
{
    const float d = f16_to_f32(b.d), m = f16_to_f32(b.m);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>(nibble(b.q, i) | bit(b.fifth, i) << 4) + m;
}

void widen(const BlockQ8_0& b, float* to)
{
    const float d = f16_to_f32(b.scale);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>(b.q[i]);
}

void widen(const BlockQ2_K& b, float* to)
{
    for (int i = 0; i < super_block; ++i) {
        const Group group = group_of(b, i / 16);
        to[i] = group.scale * static_cast<float>(pair(b.q, i)) - group.minimum;
    }
}

void widen(const BlockQ3_K& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < super_block; ++i) {
        const int g = i / 16;
        const int scale = (b.scales[g % 8] >> (g / 8 * 4) & 15) | (b.scales[8 + g % 4] >> (g / 4 * 2) & 3) << 4;
        const int q = pair(b.q, i) | (b.third[i % 32] >> (i / 32) & 1) << 2;
        to[i] = d * static_cast<float>(scale - 32) * static_cast<float>(q - 4);
    }
}

void widen(const BlockQ4_K& b, float* to)
{
    for (int i = 0; i < super_block; ++i) {
        const Group group = six_bit_group_of(b, i / 32);
        const int q = b.q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
        to[i] = group.scale * static_cast<float>(q) - group.minimum;
    }
}

void widen(const BlockQ5_K& b, float* to)
{
    for (int i = 0; i < super_block; ++i) {
        const Group group = six_bit_group_of(b, i / 32);
        const int low = b.q[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
        const int q = low | (b.fifth[i % 32] >> (i / 32) & 1) << 4;
        to[i] = group.scale * static_cast<float>(q) - group.minimum;
    }
}

void widen(const BlockQ6_K& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < super_block; ++i) {
        const int low = b.low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
        const int scale = b.scales[i / 16];
        to[i] = d * static_cast<float>(scale) * static_cast<float>((low | pair(b.high, i) << 4) - 32);
    }
}

void widen(const BlockIQ4_NL& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < small_block; ++i)
        to[i] = d * static_cast<float>(iq4_values[nibble(b.q, i)]);
}

void widen(const BlockIQ4_XS& b, float* to)
{
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < super_block; ++i) {
        const int g = i / 32;
        const int scale = (b.low_scales[g / 2] >> (g % 2 * 4) & 15) | (b.high_scales >> (2 * g) & 3) << 4;
        to[i] = d * static_cast<float>(scale - 32) * static_cast<float>(iq4_values[nibble(b.q + g * 16, i % 32)]);
    }
}

void widen(const BlockMXFP4& b, float* to)
{
    const float scale = mxfp4_scale(b.exponent);
    for (int i = 0; i < small_block; ++i)
        to[i] = scale * static_cast<float>(mxfp4_values[nibble(b.q, i)]);
}

template<class Block>
void widen_blocks(DType type, const void* from, float* to, int64_t count)
{
    const int64_t elements = info(type).block;
    const auto* bytes = static_cast<const std::byte*>(from);
    for (int64_t i = 0; i < count; i += elements, bytes += sizeof(Block)) {
        Block block;
        std::memcpy(&block, bytes, sizeof block);
        if (count - i >= elements) {
            widen(block, to + i);
        } else {
            float whole[super_block];
            widen(block, whole);
            std::copy_n(whole, count - i, to + i);
        }
    }
}

} // namespace

float mxfp4_scale(uint8_t exponent)
{
    const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : static_cast<uint32_t>(exponent - 1) << 23;
    return std::bit_cast<float>(bits);
}

void dequantise(DType type, const void* from, float* to, int64_t count)
{
    switch (type) {
    case DType::Q4_0:
        return widen_blocks<BlockQ4_0>(type, from, to, count);
    case DType::Q4_1:
        return widen_blocks<BlockQ4_1>(type, from, to, count);
    case DType::Q5_0:
        return widen_blocks<BlockQ5_0>(type, from, to, count);
    case DType::Q5_1:
        return widen_blocks<BlockQ5_1>(type, from, to, count);
    case DType::Q8_0:
        return widen_blocks<BlockQ8_0>(type, from, to, count);
    case DType::Q2_K:
        return widen_blocks<BlockQ2_K>(type, from, to, count);
    case DType::Q3_K:
        return widen_blocks<BlockQ3_K>(type, from, to, count);
    case DType::Q4_K:
        return widen_blocks<BlockQ4_K>(type, from, to, count);
    case DType::Q5_K:
        return widen_blocks<BlockQ5_K>(type, from, to, count);
    case DType::Q6_K:
        return widen_blocks<BlockQ6_K>(type, from, to, count);
    case DType::IQ4_NL:
        return widen_blocks<BlockIQ4_NL>(type, from, to, count);
    case DType::IQ4_XS:
        return widen_blocks<BlockIQ4_XS>(type, from, to, count);
    case DType::MXFP4:
        return widen_blocks<BlockMXFP4>(type, from, to, count);
    case DType::F32:
    case DType::F16:
    case DType::BF16:
        assert(!"a type without blocks");
    }
}

} // namespace palimpsest::kernels
