#include "kernels/base/dtype.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/dequantise.h"

namespace palimpsest::kernels {

const DTypeInfo& info(DType type)
{
    static constexpr DTypeInfo table[] = {
        {"f32", 1, 4},
        {"f16", 1, 2},
        {"bf16", 1, 2},
        {"q8_0", small_block, sizeof(BlockQ8_0)},
        {"q4_0", small_block, sizeof(BlockQ4_0)},
        {"q4_1", small_block, sizeof(BlockQ4_1)},
        {"q5_0", small_block, sizeof(BlockQ5_0)},
        {"q5_1", small_block, sizeof(BlockQ5_1)},
        {"q2_k", super_block, sizeof(BlockQ2_K)},
        {"q3_k", super_block, sizeof(BlockQ3_K)},
        {"q4_k", super_block, sizeof(BlockQ4_K)},
        {"q5_k", super_block, sizeof(BlockQ5_K)},
        {"q6_k", super_block, sizeof(BlockQ6_K)},
        {"iq4_nl", small_block, sizeof(BlockIQ4_NL)},
        {"iq4_xs", super_block, sizeof(BlockIQ4_XS)},
        {"mxfp4", small_block, sizeof(BlockMXFP4)},
    };
    static_assert(std::size(table) == dtype_count);
    return table[static_cast<int>(type)];
}

float f16_to_f32(uint16_t h)
{
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t exponent = (h >> 10) & 0x1Fu;
    const uint32_t mantissa = h & 0x3FFu;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -subnormal : subnormal;
}

uint16_t f32_to_f16(float f)
{
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
    if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u); // rounds to infinity
    if (magnitude < 0x38800000u) {
        // Subnormal half: adding 0.5 lets the float unit round to units of 2^-24.
        const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000u));
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
}

uint16_t f32_to_bf16(float f)
{
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
    return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

void to_f32(DType type, const void* from, float* to, int64_t count)
{
    const auto* halves = static_cast<const uint16_t*>(from);
    if (type == DType::F32)
        std::memcpy(to, from, static_cast<size_t>(count) * 4);
    else if (type == DType::F16)
        std::transform(halves, halves + count, to, f16_to_f32);
    else if (type == DType::BF16)
        std::transform(halves, halves + count, to, bf16_to_f32);
    else
        dequantise(type, from, to, count);
}

namespace {

BlockQ8_0 quantised(const float* x)
{
    BlockQ8_0 block{};
    uint32_t largest = 0; // as integers, magnitudes have the same order, with NaN above all others
    for (size_t j = 0; j < std::size(block.q); ++j)
        largest = std::max(largest, std::bit_cast<uint32_t>(x[j]) & 0x7FFFFFFFu);
    block.scale = q8_scale(largest);
    const float scale = f16_to_f32(block.scale);
    if (!(scale > 0)) return block;
    for (size_t j = 0; j < std::size(block.q); ++j)
        block.q[j] = static_cast<int8_t>(std::nearbyint(std::clamp(x[j] / scale, -127.0f, 127.0f)));
    return block;
}

} // namespace

uint16_t q8_scale(uint32_t largest)
{
    const uint16_t scale = f32_to_f16(std::bit_cast<float>(largest) / 127.0f);
    return scale < 0x7C00u ? scale : uint16_t{0x7E00};
}

void from_f32(DType type, const float* from, void* to, int64_t count)
{
    assert(type == DType::F32 || type == DType::F16 || type == DType::BF16 || type == DType::Q8_0);
    auto* halves = static_cast<uint16_t*>(to);
    if (type == DType::F32) std::memcpy(to, from, static_cast<size_t>(count) * 4);
    if (type == DType::F16)
        for (int64_t i = 0; i < count; ++i)
            halves[i] = f32_to_f16(from[i]);
    if (type == DType::BF16)
        for (int64_t i = 0; i < count; ++i)
            halves[i] = f32_to_bf16(from[i]);
    if (type == DType::Q8_0) {
        assert(count % info(type).block == 0);
        auto* bytes = static_cast<std::byte*>(to);
        for (int64_t i = 0; i < count; i += info(type).block, bytes += sizeof(BlockQ8_0)) {
            const BlockQ8_0 block = quantised(from + i);
            std::memcpy(bytes, &block, sizeof block);
        }
    }
}

} // namespace palimpsest::kernels
