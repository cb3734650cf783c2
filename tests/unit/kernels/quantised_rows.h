// Random weight rows of every quantised type, and the CPU backends that multiply with them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/random_blocks.h"
#include "tests/unit/kernels/linear_case.h"

namespace palimpsest::kernels::test {

inline constexpr int64_t cols = 1024, rows = 37;

inline std::vector<DType> block_types()
{
    std::vector<DType> types;
    for (int i = 0; i < dtype_count; ++i)
        if (info(static_cast<DType>(i)).block > 1) types.push_back(static_cast<DType>(i));
    return types;
}

// Rows of one type, with their memory.
struct Rows {
    Rows(DType of, int64_t width = cols)
        : type(of), random(seed), bytes(tests::random_blocks(random, type, rows * width))
    {
        const HostMatrix matrix{type, bytes.data(), rows, width, 0};
        weight = cpu::load({&matrix, 1});
    }
    // Makes the scales and offsets of all blocks subnormal f16 numbers; for MXFP4, uses the smallest exponents.
    void make_scales_subnormal()
    {
        const auto block = static_cast<size_t>(info(type).bytes);
        for (size_t at = 0; at < bytes.size(); at += block) {
            for (const size_t offset : tests::half_offsets(type)) {
                const auto half = static_cast<uint16_t>(1 + random() % 0x3FF);
                std::memcpy(bytes.data() + at + offset, &half, sizeof half);
            }
            if (type == DType::MXFP4) bytes[at] = static_cast<std::byte>(random() % 2);
        }
    }
    // Sets the weights of one column to 0. REQUIRES: Q4_0, where the code 8 is a weight of 0.
    void clear_column(size_t column)
    {
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
            const size_t block = (row * cols + column) / 32, within = column % 32;
            std::byte& codes = bytes[block * sizeof(BlockQ4_0) + offsetof(BlockQ4_0, q) + within % 16];
            codes = within < 16 ? (codes & std::byte{0xF0}) | std::byte{0x08}
                                : (codes & std::byte{0x0F}) | std::byte{0x80};
        }
    }
    DType type;
    std::mt19937 random;
    std::vector<std::byte> bytes;
    std::unique_ptr<Weight> weight;
};

// Every SIMD target, with and without exact products.
inline std::vector<std::pair<TestBackend, bool>> every_cpu()
{
    std::vector<std::pair<TestBackend, bool>> all;
    for (const TestBackend& on : every_backend())
        if (on.kind() == Kind::Cpu)
            for (const bool exact : {false, true})
                all.emplace_back(on, exact);
    return all;
}

} // namespace palimpsest::kernels::test
