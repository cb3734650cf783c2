// Encoding of quantised weights in planes (formulas: kernels/base/quantised_blocks.h).
//
// Every element is scale * (code - bias) - offset, or scale * table[code] - offset; a group of 16 or 32 columns
// shares scale and offset. The unit of all planes is a chunk: here 32 columns of a row of a weight, not tokens.
//   values   the low 2 or 4 bits of each code: 2 or 4 words
//   high     the 1 or 2 bits above them: 1 or 2 words
//   scales   data of each chunk: 1, 2 or 4 bytes
//   factors  data shared by 8 chunks: 2 or 4 bytes
// A plane of b bits stores column 4 j + i of a chunk in word j % b, at bit 8 i + b (j / b). One shift and one mask
// then extract the codes of four consecutive columns, as the four bytes of a word. Q8_0 has its own planes
// (cuda_weight.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels::cuda {

inline constexpr int chunk_columns = 32, chunk_words = chunk_columns / 4,
                     factor_chunks = super_block / chunk_columns;

// How scales and offsets are stored.
enum class Scaling : uint8_t {
    Half,       // per chunk: an f16 scale
    HalfPair,   // per chunk: an f16 scale and an f16 that is added
    Exponent,   // per chunk: a byte e for 2^(e - 128)
    SignedByte, // per 8 chunks: an f16 factor; per group: a signed byte, scale = factor * byte
    BytePair,   // per 8 chunks: f16 factors of scale and offset; per group: a byte for each
    NibblePair, // as BytePair, but the low and high nibble of one byte
};

enum class CodeTable : uint8_t { None, Iq4, Mxfp4 };

struct Coding {
    int low_bits = 0, high_bits = 0; // per code; 0 low bits: the type is not encoded in chunks
    int group = chunk_columns;
    Scaling scaling = Scaling::Half;
    int bias = 0; // with a table: what is added to its entries to make them unsigned bytes
    CodeTable table = CodeTable::None;

    constexpr int groups() const { return chunk_columns / group; } // per chunk
    constexpr bool has_offset() const
    {
        return scaling == Scaling::HalfPair || scaling == Scaling::BytePair || scaling == Scaling::NibblePair;
    }
    constexpr int scale_bytes() const // per chunk
    {
        if (scaling == Scaling::HalfPair) return 4;
        if (scaling == Scaling::Exponent) return 1;
        if (scaling == Scaling::Half || scaling == Scaling::BytePair) return 2;
        return groups();
    }
    constexpr int factor_bytes() const // per 8 chunks
    {
        if (scaling == Scaling::SignedByte) return 2;
        return scaling == Scaling::BytePair || scaling == Scaling::NibblePair ? 4 : 0;
    }
    // The largest |code - bias|, or the largest magnitude in the table.
    constexpr int largest_code() const
    {
        if (table != CodeTable::None) return table == CodeTable::Iq4 ? 127 : 12;
        const int above = (1 << (low_bits + high_bits)) - 1 - bias;
        return above > bias ? above : bias;
    }
};

constexpr Coding coding_of(DType type)
{
    constexpr int table_bias = 128;
    switch (type) {
    case DType::Q4_0:
        return {.low_bits = 4, .bias = 8};
    case DType::Q4_1:
        return {.low_bits = 4, .scaling = Scaling::HalfPair};
    case DType::Q5_0:
        return {.low_bits = 4, .high_bits = 1, .bias = 16};
    case DType::Q5_1:
        return {.low_bits = 4, .high_bits = 1, .scaling = Scaling::HalfPair};
    case DType::Q2_K:
        return {.low_bits = 2, .group = 16, .scaling = Scaling::NibblePair};
    case DType::Q3_K:
        return {.low_bits = 2, .high_bits = 1, .group = 16, .scaling = Scaling::SignedByte, .bias = 4};
    case DType::Q4_K:
        return {.low_bits = 4, .scaling = Scaling::BytePair};
    case DType::Q5_K:
        return {.low_bits = 4, .high_bits = 1, .scaling = Scaling::BytePair};
    case DType::Q6_K:
        return {.low_bits = 4, .high_bits = 2, .group = 16, .scaling = Scaling::SignedByte, .bias = 32};
    case DType::IQ4_NL:
        return {.low_bits = 4, .bias = table_bias, .table = CodeTable::Iq4};
    case DType::IQ4_XS:
        return {.low_bits = 4, .scaling = Scaling::SignedByte, .bias = table_bias, .table = CodeTable::Iq4};
    case DType::MXFP4:
        return {.low_bits = 4, .scaling = Scaling::Exponent, .bias = table_bias, .table = CodeTable::Mxfp4};
    case DType::F32:
    case DType::F16:
    case DType::BF16:
    case DType::Q8_0:
        break;
    }
    return {};
}

constexpr bool is_chunked(DType type)
{
    return coding_of(type).low_bits > 0;
}

// Calls use(std::integral_constant<DType, type>). REQUIRES: is_chunked(type).
template<class Use>
void with_chunked_type(DType type, const Use& use)
{
    switch (type) {
    case DType::Q4_0:
        return use(std::integral_constant<DType, DType::Q4_0>());
    case DType::Q4_1:
        return use(std::integral_constant<DType, DType::Q4_1>());
    case DType::Q5_0:
        return use(std::integral_constant<DType, DType::Q5_0>());
    case DType::Q5_1:
        return use(std::integral_constant<DType, DType::Q5_1>());
    case DType::Q2_K:
        return use(std::integral_constant<DType, DType::Q2_K>());
    case DType::Q3_K:
        return use(std::integral_constant<DType, DType::Q3_K>());
    case DType::Q4_K:
        return use(std::integral_constant<DType, DType::Q4_K>());
    case DType::Q5_K:
        return use(std::integral_constant<DType, DType::Q5_K>());
    case DType::Q6_K:
        return use(std::integral_constant<DType, DType::Q6_K>());
    case DType::IQ4_NL:
        return use(std::integral_constant<DType, DType::IQ4_NL>());
    case DType::IQ4_XS:
        return use(std::integral_constant<DType, DType::IQ4_XS>());
    case DType::MXFP4:
        return use(std::integral_constant<DType, DType::MXFP4>());
    case DType::F32:
    case DType::F16:
    case DType::BF16:
    case DType::Q8_0:
        break;
    }
}

} // namespace palimpsest::kernels::cuda
