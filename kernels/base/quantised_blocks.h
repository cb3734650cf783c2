// Blocks of quantised weights, byte for byte as GGUF files hold them (github.com/ggml-org/ggml, docs/gguf.md;
// MXFP4: OCP Microscaling Formats 1.0), with the value of an element.
//
// Scales `d` and `m` and their kin are the bits of an f16. Blocks begin at any byte of a mapped file, so they are
// copied out of it with memcpy. Where a type has two levels of scales, the inner ones are small integers: "group"
// is the run of elements that shares one. The order of the float operations in every formula is the one that
// dequantise.h computes.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// Elements of a block: of the simple types, and of those with groups.
inline constexpr int small_block = 32, super_block = 256;

// value = d * (nibble - 8). Element i < 16 is the low nibble of byte i, element 16 + i the high one.
struct BlockQ4_0 {
    uint16_t d;
    uint8_t q[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

// value = d * nibble + m; nibbles as in Q4_0.
struct BlockQ4_1 {
    uint16_t d, m;
    uint8_t q[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

// value = d * (q - 16); q has four bits as in Q4_0, and bit i of the 32-bit little-endian number `fifth` above
// them.
struct BlockQ5_0 {
    uint16_t d;
    uint8_t fifth[4];
    uint8_t q[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

// value = d * q + m; q as in Q5_0.
struct BlockQ5_1 {
    uint16_t d, m;
    uint8_t fifth[4];
    uint8_t q[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

// value = scale * q
struct BlockQ8_0 {
    uint16_t scale;
    int8_t q[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

// 16 groups of 16: value = (d * low nibble of scales[group]) * q - (m * high nibble of scales[group]).
// Of each half of 128 elements, element 32 j + i has the bits 2 j and 2 j + 1 of byte i of the half's 32 bytes.
struct BlockQ2_K {
    uint8_t scales[16];
    uint8_t q[64];
    uint16_t d, m;
};
static_assert(sizeof(BlockQ2_K) == 84);

// 16 groups of 16: value = (d * (scale - 32)) * (q - 4). The low two bits of q lie as in Q2_K; its third bit is,
// for element 32 j + i of the whole block, bit j of third[i]. Scales of six bits: for group g the nibble g / 8 of
// scales[g % 8], and above it the bits 2 (g / 4) and 2 (g / 4) + 1 of scales[8 + g % 4].
struct BlockQ3_K {
    uint8_t third[32];
    uint8_t q[64];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

// 8 groups of 32: value = (d * scale) * nibble - (m * minimum). The groups 2 j and 2 j + 1 are the low and the high
// nibbles of the 32 bytes from 32 j on.
// Scales and minima of six bits: for group g < 4 the low six bits of scales[g] and scales[4 + g]; for g >= 4 the
// low (scale) and high (minimum) nibble of scales[4 + g], and above it the high two bits of scales[g - 4] and
// scales[g].
struct BlockQ4_K {
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t q[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

// As Q4_K with a fifth bit: bit g of fifth[i] for element i of group g.
struct BlockQ5_K {
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t fifth[32];
    uint8_t q[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

// 16 groups of 16: value = (d * scales[group]) * (q - 32). Of each half of 128 elements, elements i, 32 + i, 64 + i
// and 96 + i have as their low four bits the low nibbles of low[i] and low[32 + i] and the high nibbles of low[i]
// and low[32 + i], of the half's 64 bytes; element 32 j + i has above them the bits 2 j and 2 j + 1 of byte i of
// the half's 32 bytes of `high`.
struct BlockQ6_K {
    uint8_t low[128];
    uint8_t high[64];
    int8_t scales[16];
    uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

// value = d * iq4_values[nibble]; nibbles as in Q4_0.
struct BlockIQ4_NL {
    uint16_t d;
    uint8_t q[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18);

// 8 groups of 32, each with its nibbles as in Q4_0: value = (d * (scale - 32)) * iq4_values[nibble].
// Scales of six bits: for group g the nibble g % 2 of low_scales[g / 2], and above it the bits 2 g and 2 g + 1 of
// high_scales.
struct BlockIQ4_XS {
    uint16_t d;
    uint16_t high_scales;
    uint8_t low_scales[4];
    uint8_t q[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

// value = 2^(exponent - 128) * mxfp4_values[nibble]; nibbles as in Q4_0. The values are twice those of the
// standard's E2M1, which is why its bias of 127 has become 128.
struct BlockMXFP4 {
    uint8_t exponent;
    uint8_t q[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

inline constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace palimpsest::kernels
