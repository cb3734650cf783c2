// A row of activations as 24-bit fixed-point numbers, for exact integer products on processors with VNNI.
//
// 128 elements share a power of two, 2^-e > 1.004 max |x| / 2^23. Each element x becomes an integer of magnitude at
// most 2^23, the one nearest to 2^e x; the last elements of a row are padded to 128 with zeros. The error of an
// element is at most 1.004 * 2^-23 of the largest magnitude of the 128, so a very large element costs the others
// precision. A row in which one of 128 elements exceeds the sum of the others is therefore multiplied in f32
// (HasOutlier); in all other rows the error is below 64.3 * 2^-23 of the mean magnitude.
//
// The integer is l2 2^16 + l1 2^8 + l0 with signed bytes l (limbs). The instruction vpdpbusd multiplies four of
// these bytes at a time with the unsigned codes of four weights; the sums of these products are exact.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Which of 128 elements are in the first of two 64-byte vectors, and which in the second: the order in which a type
// stores its codes, if the low nibbles are the first vector and the high nibbles the second.
enum class CodeOrder : uint8_t {
    Halves16, // the first 16 elements of every block of 32, and the last 16
    Groups32, // groups 0 and 2 of 32 elements, and groups 1 and 3
    Natural   // elements 0 to 63, and 64 to 127
};

struct alignas(64) FixedPoint128 {
    int8_t limbs[3][2][64];    // limbs[0] is the lowest byte
    int32_t correction[2][16]; // per lane of 4 elements: -offset * their sum
    float scale;               // 2^-e; NaN if an element is not finite
};

} // namespace palimpsest::kernels::cpu
