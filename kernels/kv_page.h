// Layout of KvPool rows in their pages, and conversion from and to the layout outside of a pool.
//
// A page of F32, F16 or BF16 is its 64 rows, one after the other. A page of Q8_0 is two planes: int8 [64,
// head_dim], followed by the scales, f16 [64, head_dim / 32], so that elements and scales of a row can be read in
// whole vectors, which blocks of 34 bytes do not allow. Outside of a pool (gathered or in a snapshot), a row of
// Q8_0 is its head_dim / 32 blocks, each a scale and 32 int8 (BlockQ8_0).
#pragma once

#include "kernels/backend.h"

namespace palimpsest::kernels {

// Bytes of one row, and offsets of a row within its page.
struct KvPage {
    int64_t element_bytes = 0;
    int64_t scale_bytes = 0; // 0 except for Q8_0

    int64_t elements_at(int64_t row) const { return row * element_bytes; }
    int64_t scales_at(int64_t row) const { return page_rows * element_bytes + row * scale_bytes; }
    int64_t bytes() const { return page_rows * (element_bytes + scale_bytes); }
};

inline KvPage kv_page(DType type, int64_t head_dim)
{
    if (type != DType::Q8_0) return {row_bytes(type, head_dim), 0};
    return {head_dim, head_dim / info(type).block * int64_t{sizeof(uint16_t)}};
}

// Convert `count` rows from the layout outside of a pool to that of consecutive rows in a page, and back.
void split_rows(const KvPage& page, const std::byte* rows, int64_t count, std::byte* elements, std::byte* scales);
void join_rows(const KvPage& page, const std::byte* elements, const std::byte* scales, int64_t count,
               std::byte* rows);

} // namespace palimpsest::kernels
