// Device-side reads from the planes of coding.h, chunk (32 columns of a row) by chunk.
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/linear/coding.h"
#include "kernels/cuda/linear/cuda_weight.h"

namespace palimpsest::kernels::cuda {

// One row of a weight's planes; null for planes that the type does not have.
struct PlaneRow {
    const unsigned char* values = nullptr;
    const unsigned char* high = nullptr;
    const unsigned char* scales = nullptr;
    const unsigned char* factors = nullptr;
};

template<DType type>
__device__ inline PlaneRow plane_row(const WeightPlanes& planes, int64_t row)
{
    constexpr PlaneBytes bytes = plane_bytes(type);
    const int64_t chunks = row * (planes.stride / chunk_columns);
    const auto at = [](const void* plane, int64_t offset) {
        return static_cast<const unsigned char*>(plane) + offset;
    };
    PlaneRow start{.values = at(planes.values, chunks * bytes.values)};
    if constexpr (bytes.high > 0) start.high = at(planes.high, chunks * bytes.high);
    if constexpr (bytes.scales > 0) start.scales = at(planes.scales, chunks * bytes.scales);
    if constexpr (bytes.factors > 0) start.factors = at(planes.factors, chunks / factor_chunks * bytes.factors);
    return start;
}

// Reads 1, 2 or 4 bytes as a number; not through the read-only path, for the reason that stream16 (gemv_load.h)
// gives.
template<int bytes>
__device__ inline uint32_t read_bytes(const unsigned char* at)
{
    static_assert(bytes == 1 || bytes == 2 || bytes == 4);
    if constexpr (bytes == 1) return *at;
    if constexpr (bytes == 2) return *reinterpret_cast<const uint16_t*>(at);
    return *reinterpret_cast<const uint32_t*>(at);
}

// 2^(exponent - 128); subnormal for exponents below 2.
__device__ inline float power_of(uint32_t exponent)
{
    return __uint_as_float(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
}

// Scales and offsets of one chunk, decoded on demand. The product of a factor and a byte is exact in f32.
template<DType type>
struct ChunkScales {
    static constexpr Coding coding = coding_of(type);
    uint32_t own, factors;

    __device__ void from(const PlaneRow& row, int64_t chunk)
    {
        own = read_bytes<coding.scale_bytes()>(row.scales + chunk * coding.scale_bytes());
        if constexpr (coding.factor_bytes() > 0)
            factors =
                read_bytes<coding.factor_bytes()>(row.factors + chunk / factor_chunks * coding.factor_bytes());
    }
    __device__ float scale(int group) const
    {
        if constexpr (coding.scaling == Scaling::Half || coding.scaling == Scaling::HalfPair)
            return half(own, 0);
        else if constexpr (coding.scaling == Scaling::Exponent)
            return power_of(own);
        else if constexpr (coding.scaling == Scaling::SignedByte)
            return half(factors, 0) * static_cast<float>(static_cast<int8_t>(own >> (8 * group)));
        else
            return half(factors, 0) * static_cast<float>(own >> (8 * group) & low_mask);
    }
    __device__ float offset(int group) const
    {
        static_assert(coding.has_offset());
        if constexpr (coding.scaling == Scaling::HalfPair)
            return -half(own, 1);
        else if constexpr (coding.scaling == Scaling::BytePair)
            return half(factors, 1) * static_cast<float>(own >> 8);
        else
            return half(factors, 1) * static_cast<float>(own >> (8 * group + 4) & 0xf);
    }

private:
    static constexpr uint32_t low_mask = coding.scaling == Scaling::NibblePair ? 0xf : 0xff;
    __device__ static float half(uint32_t pair, int i)
    {
        return widen_f16(static_cast<uint16_t>(pair >> (16 * i)));
    }
};

// Four entries of a table as bytes, each plus 128.
constexpr uint32_t table_word(CodeTable table, int word)
{
    const auto& values = table == CodeTable::Iq4 ? iq4_values : mxfp4_values;
    uint32_t bytes = 0;
    for (int i = 0; i < 4; ++i)
        bytes |= static_cast<uint32_t>(values[4 * word + i] + 128) << (8 * i);
    return bytes;
}

// Replaces each byte, a code below 16, by its entry in the table. One byte permutation looks up four codes among
// eight entries; the bit of value 8 selects between two such results.
template<CodeTable table>
__device__ inline uint32_t look_up_codes(uint32_t codes)
{
    constexpr uint32_t t0 = table_word(table, 0), t1 = table_word(table, 1), t2 = table_word(table, 2),
                       t3 = table_word(table, 3);
    const uint32_t selector = __byte_perm(codes | codes >> 4, 0, 0x4420);
    const uint32_t low = __byte_perm(t0, t1, selector & 0x7777), high = __byte_perm(t2, t3, selector & 0x7777);
    return __byte_perm(low, high, (selector & 0x8888) >> 1 | 0x3210);
}

// The `bits` bits of the codes of columns 4 j to 4 j + 3, one code per byte: see coding.h.
template<int bits>
__device__ inline uint32_t plane_word(const uint32_t* words, int j)
{
    constexpr uint32_t mask = ((1u << bits) - 1) * 0x01010101u;
    return words[j % bits] >> (bits * (j / bits)) & mask;
}

// The codes of columns 4 j to 4 j + 3 of a chunk, one per byte; table entries, if the type has a table.
template<DType type>
__device__ inline uint32_t code_word(const uint32_t* values, [[maybe_unused]] const uint32_t* high, int j)
{
    constexpr Coding coding = coding_of(type);
    uint32_t codes = plane_word<coding.low_bits>(values, j);
    if constexpr (coding.high_bits > 0) codes |= plane_word<coding.high_bits>(high, j) << coding.low_bits;
    if constexpr (coding.table != CodeTable::None) codes = look_up_codes<coding.table>(codes);
    return codes;
}

// Byte i of such a word as a number, without its bias. The byte becomes the low byte of the mantissa of 2^23,
// which is exact and faster than a conversion.
template<DType type>
__device__ inline float code_of(uint32_t codes, int i)
{
    constexpr uint32_t two_to_23 = 0x4b000000u;
    return __uint_as_float(__byte_perm(codes, two_to_23, 0x7440u + static_cast<uint32_t>(i))) -
           (8388608.0f + static_cast<float>(coding_of(type).bias));
}

// Columns 4 j to 4 j + 3 of a chunk, bit for bit like dequantise() of kernels/base.
template<DType type>
__device__ inline float4 four_weights(const PlaneRow& row, int64_t chunk, int j)
{
    constexpr Coding coding = coding_of(type);
    constexpr PlaneBytes bytes = plane_bytes(type);
    ChunkScales<type> scales;
    scales.from(row, chunk);
    const int group = 4 * j / coding.group;
    const auto words = [&](const unsigned char* plane, int64_t of_chunk) {
        return reinterpret_cast<const uint32_t*>(plane + chunk * of_chunk);
    };
    const uint32_t codes = code_word<type>(words(row.values, bytes.values), words(row.high, bytes.high), j);
    const float scale = scales.scale(group);
    float4 x{scale * code_of<type>(codes, 0), scale * code_of<type>(codes, 1), scale * code_of<type>(codes, 2),
             scale * code_of<type>(codes, 3)};
    if constexpr (coding.has_offset()) {
        const float offset = scales.offset(group);
        x = {x.x - offset, x.y - offset, x.z - offset, x.w - offset};
    }
    return x;
}

} // namespace palimpsest::kernels::cuda
