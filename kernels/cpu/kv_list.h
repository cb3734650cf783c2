// Where the rows of one KV head's list lie in the pool.
#pragma once

#include <algorithm>

#include "kernels/backend.h"

namespace palimpsest::kernels {

class KvList {
public:
    KvList(const KvPool& pool, const KvLists& lists, int64_t head, int32_t head_dim)
        : pool_(pool), pages_(lists.pages + head * lists.page_stride), row_bytes_(row_bytes(pool.type, head_dim))
    {
    }

    std::byte* key(int64_t row) const { return pool_.keys + offset(row); }
    std::byte* value(int64_t row) const { return pool_.values + offset(row); }
    int64_t bytes_per_row() const { return row_bytes_; }
    // Of `wanted` rows from `row` on, how many lie in one piece.
    static int64_t piece(int64_t row, int64_t wanted) { return std::min(wanted, page_rows - row % page_rows); }

private:
    int64_t offset(int64_t row) const
    {
        return (static_cast<int64_t>(pages_[row / page_rows]) * page_rows + row % page_rows) * row_bytes_;
    }

    KvPool pool_;
    const uint32_t* pages_;
    int64_t row_bytes_;
};

} // namespace palimpsest::kernels
