// A row of activations as 24-bit fixed-point numbers, for exact integer products on processors with VNNI.
//
// 128 elements share a power of two, 2^-e > max |x| / 2^23 * 1.004. Each element x becomes the integer nearest to x
// * 2^e, whose magnitude is at most 2^23; a row that ends within 128 elements is padded with zeros. The error of an
// element is at most 1.004 * 2^-23 of the largest of the 128, whatever its weight. A row in which one of 128
// elements exceeds the sum of the others is therefore multiplied in f32 (HasOutlier); in all other rows the error
// is below 2^-23
// * 64.3 of the mean magnitude.
//
// The integer is l2 * 2^16 + l1 * 2^8 + l0 with signed bytes l, which vpdpbusd multiplies with the unsigned codes
// of four weights at a time; the sums of these products are exact.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Which elements of 128 go to which of the two 64-byte vectors: the order in which a type stores its codes, with
// the low nibbles as the first vector and the high nibbles as the second.
enum class CodeOrder : uint8_t {
    Halves16, // the first 16 elements of every block of 32, and the last 16
    Groups32, // groups 0 and 2 of 32 elements, and groups 1 and 3
    Natural   // elements 0 to 63, and 64 to 127
};

struct alignas(64) FixedPoint128 {
    int8_t limbs[3][2][64];    // the lowest first
    int32_t correction[2][16]; // -offset * the sum of the four elements of each lane
    float scale;               // 2^-e; NaN if an element is not finite
};

} // namespace palimpsest::kernels::cpu
