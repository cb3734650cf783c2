// Blocks of quantised weights, byte for byte as in GGUF files (github.com/ggml-org/ggml, docs/gguf.md;
// MXFP4: OCP Microscaling Formats 1.0), with the formula for the value of an element.
//
// Scales such as `d` and `m` are the bits of an f16. A block may begin at any byte of a mapped file, so it is
// copied with memcpy before it is read. Some types have two levels of scales: a "group" is a run of elements that
// share one inner scale, which is a small integer. The formulas show the order of the float operations, which
// dequantise.h follows exactly.
#pragma once

#include <cstdint>

namespace palimpsest::kernels {

// Number of elements in a block of a type without groups, and of a type with groups.
inline constexpr int small_block = 32, super_block = 256;

// value = d * (nibble - 8). Element i < 16 is the low nibble of byte i, element 16 + i the high nibble.
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

// value = d * (q - 16). The low four bits of q are stored as in Q4_0; the fifth is bit i of `fifth`, a
// little-endian 32-bit number.
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
// In each half of 128 elements, element 32 j + i is the bits 2 j and 2 j + 1 of byte i of that half's 32 bytes.
struct BlockQ2_K {
    uint8_t scales[16];
    uint8_t q[64];
    uint16_t d, m;
};
static_assert(sizeof(BlockQ2_K) == 84);

// 16 groups of 16: value = (d * (scale - 32)) * (q - 4). The low two bits of q are stored as in Q2_K; the third bit
// of element 32 j + i of the whole block is bit j of third[i]. Scales have six bits: for group g, the low four are
// nibble g / 8 of scales[g % 8], the high two are bits 2 (g / 4) and 2 (g / 4) + 1 of scales[8 + g % 4].
struct BlockQ3_K {
    uint8_t third[32];
    uint8_t q[64];
    uint8_t scales[12];
    uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

// 8 groups of 32: value = (d * scale) * nibble - (m * minimum). Groups 2 j and 2 j + 1 are the low and the high
// nibbles of the 32 bytes from q[32 j]. Scales and minima have six bits. For group g < 4 they are the low six bits
// of scales[g] and scales[4 + g]. For g >= 4 the low four bits are the low (scale) and high (minimum) nibble of
// scales[4 + g], and the high two are the high two bits of scales[g - 4] (scale) and scales[g] (minimum).
struct BlockQ4_K {
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t q[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

// As Q4_K, with a fifth bit: bit g of fifth[i] for element i of group g.
struct BlockQ5_K {
    uint16_t d, m;
    uint8_t scales[12];
    uint8_t fifth[32];
    uint8_t q[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

// 16 groups of 16: value = (d * scales[group]) * (q - 32). In each half of 128 elements, which has 64 bytes of
// `low` and 32 of `high`: the low four bits of elements i, 32 + i, 64 + i and 96 + i are the low nibbles of low[i]
// and low[32 + i], then the high nibbles of low[i] and low[32 + i]; the high two bits of element 32 j + i are bits
// 2 j and 2 j + 1 of high[i].
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

// 8 groups of 32, each with nibbles as in Q4_0: value = (d * (scale - 32)) * iq4_values[nibble].
// Scales have six bits: for group g, the low four are nibble g % 2 of low_scales[g / 2], the high two are bits 2 g
// and 2 g + 1 of high_scales.
struct BlockIQ4_XS {
    uint16_t d;
    uint16_t high_scales;
    uint8_t low_scales[4];
    uint8_t q[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136);

// value = 2^(exponent - 128) * mxfp4_values[nibble]; nibbles as in Q4_0. The table holds twice the values of the
// standard's E2M1, so the exponent's bias is 128 instead of 127.
struct BlockMXFP4 {
    uint8_t exponent;
    uint8_t q[16];
};
static_assert(sizeof(BlockMXFP4) == 17);

inline constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace palimpsest::kernels
