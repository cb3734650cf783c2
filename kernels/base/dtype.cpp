#include "kernels/base/dtype.h"

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
        // The result is subnormal, a multiple of 2^-24. That is also the spacing of floats in [0.5, 1), so adding
        // 0.5 rounds to it.
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

} // namespace palimpsest::kernels
