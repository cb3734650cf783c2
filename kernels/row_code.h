// Codes rows of keys or values in fewer bits, to store them. Not used while computing: a row that a session attends
// to is decoded first.
//
//   q8   groups of 32 elements, each scale * n with n in [-127, 127]: 34 bytes
//   q4   the row is multiplied by a Hadamard matrix, which spreads channels of large values over all elements, and
//        then coded in groups of 32 elements, each scale * n with n in [-8, 7]: 18 bytes
//
// A group is stored as its scale (bf16, little-endian) and its numbers, in q4 as n + 8 with element i in the low
// and i + 16 in the high half of byte i. The Hadamard matrix of order b, the largest power of two that divides
// head_dim, multiplies each b elements; decoding multiplies by it again and divides by b.
//
// Rounded rows are those that decoding their code gives back bit for bit. Scales have only 8 significant bits, in
// q4 5, fewer than elements, so that the scale computed from decoded elements is the same again. Rounding twice
// therefore changes nothing more, however often a session is saved and restored.
//
// Results are equal bit for bit on every SIMD target. Runs on the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/dtype.h"

namespace palimpsest::kernels {

enum class RowCode : uint8_t { Q8, Q4 };

struct CodedRows {
    RowCode code = RowCode::Q8;
    DType type = DType::F16; // of the rows: F32, F16, BF16 or Q8_0
    int64_t head_dim = 0;
};

// False if the code would take as many bytes as the rows, or if head_dim is no multiple of 32.
bool can_code(const CodedRows& shape);
int64_t coded_row_bytes(const CodedRows& shape);

// For the functions below, REQUIRES: can_code(shape), and whole rows.

// Rounds rows in place. Leaves a row as it is if it is not finite, or if no rounded row is found near it: of normal
// numbers that is no row of f16 or bf16 and one of 2,500 of Q8_0 in q4; of numbers near the smallest of f16 a few
// in a hundred.
void round_rows(const CodedRows& shape, std::span<std::byte> rows);
// Codes rows; `codes` has coded_row_bytes for each. Sets is_rounded[i] to 1 if decoding gives row i back, else to
// 0.
void code_rows(const CodedRows& shape, std::span<const std::byte> rows, std::span<std::byte> codes,
               std::span<uint8_t> is_rounded);
void decode_rows(const CodedRows& shape, std::span<const std::byte> codes, std::span<std::byte> rows);

} // namespace palimpsest::kernels
