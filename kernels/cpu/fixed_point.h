// A row of activations as fixed-point numbers of 24 bits, for the exact integer products of processors with VNNI.
//
// 128 elements share a power of two, 2^-e > max |x| / 2^23 * 1.004, and element x is the integer nearest to x *
// 2^e, at most 2^23 off zero; a row that ends within 128 elements is filled up with zeros. The error of an element
// is at most 1.004 * 2^-23 of the largest of the 128, whatever the weight of that one is. A row in which one of 128
// elements outweighs all others together is therefore multiplied in f32 (HasOutlier); in all others the error is
// below 2^-23 * 64.3 of the mean magnitude.
//
// The integer is l2 * 2^16 + l1 * 2^8 + l0 with signed bytes l, which vpdpbusd multiplies with the unsigned codes
// of four weights at a time; the sums of these products are exact.
#pragma once

#include <cstdint>

namespace palimpsest::kernels::cpu {

// Which element of 128 is at which of two times 64 bytes: wherever a type's nibbles have their elements once its
// low nibbles are the first and its high nibbles the second vector.
enum class CodeOrder : uint8_t {
    Halves16, // of every block of 32 the first 16 elements, and the last 16
    Groups32, // groups 0 and 2 of 32 elements, and groups 1 and 3
    Natural   // elements 0 to 63, and 64 to 127
};

struct alignas(64) FixedPoint128 {
    int8_t limbs[3][2][64];    // the lowest first
    int32_t correction[2][16]; // -offset * the sum of the four elements of each lane
    float scale;               // 2^-e; not a number if an element is infinite or not a number
};

} // namespace palimpsest::kernels::cpu
