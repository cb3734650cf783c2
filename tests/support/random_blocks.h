// Random quantised weights in file format; all codes and all inner scales occur.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/base/dtype.h"

namespace palimpsest::tests {

// Byte offsets of the f16 values of a block: scale and, for some types, offset.
inline std::vector<size_t> half_offsets(kernels::DType type)
{
    using kernels::DType;
    switch (type) {
    case DType::Q4_0:
    case DType::Q5_0:
    case DType::Q8_0:
    case DType::IQ4_NL:
    case DType::IQ4_XS:
        return {0};
    case DType::Q4_1:
    case DType::Q5_1:
    case DType::Q4_K:
    case DType::Q5_K:
        return {0, 2};
    case DType::Q2_K:
        return {offsetof(kernels::BlockQ2_K, d), offsetof(kernels::BlockQ2_K, m)};
    case DType::Q3_K:
        return {offsetof(kernels::BlockQ3_K, d)};
    case DType::Q6_K:
        return {offsetof(kernels::BlockQ6_K, d)};
    case DType::F32:
    case DType::F16:
    case DType::BF16:
    case DType::MXFP4:
        break;
    }
    return {};
}

// REQUIRES: info(type).block > 1, and `elements` is a whole number of blocks.
inline std::vector<std::byte> random_blocks(std::mt19937& random, kernels::DType type, int64_t elements)
{
    const auto block = static_cast<size_t>(kernels::info(type).bytes);
    std::vector<std::byte> bytes(static_cast<size_t>(kernels::row_bytes(type, elements)));
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
    std::uniform_real_distribution<float> size(0.0002f, 0.002f);
    for (size_t at = 0; at < bytes.size(); at += block) {
        for (const size_t offset : half_offsets(type)) {
            const uint16_t half = kernels::f32_to_f16(random() % 4 == 0 ? -size(random) : size(random));
            std::memcpy(bytes.data() + at + offset, &half, sizeof half);
        }
        if (type == kernels::DType::MXFP4) bytes[at] = static_cast<std::byte>(118 + random() % 4);
    }
    return bytes;
}

} // namespace palimpsest::tests
