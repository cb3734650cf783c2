// Element types of tensors and their sizes in bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/base/quantised_blocks.h"

namespace palimpsest::kernels {

// Weights may have any of these types; the rows of activations and of the KV cache are F32, F16, BF16 or Q8_0.
// Snapshots store the numbers of these four, which therefore never change.
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

// Scalar conversions. The SIMD versions in the kernels agree with them bit for bit.
float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); // nearest, ties to even
inline float bf16_to_f32(uint16_t b)
{
    return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}
uint16_t f32_to_bf16(float f); // nearest, ties to even; NaN stays NaN

} // namespace palimpsest::kernels
