// Element types of tensors, and how many bytes they take.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/base/quantised_blocks.h"

namespace palimpsest::kernels {

// Weights have any of these; activations and the KV cache F32, F16, BF16 or Q8_0. The first four keep their
// numbers, which snapshots store.
enum class DType : uint8_t {
    F32,
    F16,
    BF16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
    MXFP4,
};
inline constexpr int dtype_count = static_cast<int>(DType::MXFP4) + 1;

// `block` elements are stored together in `bytes` bytes (quantised_blocks.h); a row is a whole number of blocks.
struct DTypeInfo {
    std::string_view name;
    int block;
    int bytes;
};

const DTypeInfo& info(DType type);

inline int64_t row_bytes(DType type, int64_t elements)
{
    return elements / info(type).block * info(type).bytes;
}

// Scalar conversions; the kernels use their SIMD forms, which agree bit for bit.
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); // nearest, ties to even
inline float bf16_to_f32(uint16_t b)
{
    return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}
uint16_t f32_to_bf16(float f); // nearest, ties to even; NaN stays NaN
// The scale of a Q8_0 block, f16, from the bits of its largest magnitude; see from_f32.
uint16_t q8_scale(uint32_t largest);

// Widens `count` elements starting at a block boundary.
void to_f32(DType type, const void* from, float* to, int64_t count);
// Narrows to F32, F16, BF16 or Q8_0. Q8_0: a block's scale is max |x| / 127 as f16, a byte x / scale to the
// nearest, ties to even, and within 127. A block that is not finite, or for whose scale f16 does not reach (8.3
// million and more), gets the scale NaN: it reads as not a number, and never as something smaller. REQUIRES: `type`
// is one of these four, and count a whole number of blocks.
void from_f32(DType type, const float* from, void* to, int64_t count);

} // namespace palimpsest::kernels
