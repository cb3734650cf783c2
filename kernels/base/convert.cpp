#include "kernels/base/convert.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/dequantise.h"

namespace palimpsest::kernels {
namespace {

BlockQ8_0 quantised(const float* x)
{
    BlockQ8_0 block{};
    uint32_t largest = 0; // bits of max |x|; as integers, they are ordered like the floats, NaN last
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
