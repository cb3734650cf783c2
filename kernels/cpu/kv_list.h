// Addresses of the rows of one KV head's list in the pool.
#pragma once

#include <algorithm>

#include "kernels/kv_page.h"

namespace palimpsest::kernels {

// The first rank that is visible to the newest token of a list of `ranks` ranks. A window > 0 makes only that many
// ranks visible.
inline int64_t first_visible(int32_t window, int64_t ranks)
{
    return window > 0 ? std::max<int64_t>(0, ranks - window) : 0;
}

// A row of keys or values, or the first of several contiguous rows.
struct KvRow {
    std::byte* elements = nullptr;
    std::byte* scales = nullptr; // Q8_0 only
};

class KvList {
public:
    KvList(const KvPool& pool, const KvLists& lists, int64_t head, int32_t head_dim)
        : pool_(pool), pages_(lists.pages + head * lists.page_stride), page_(kv_page(pool.type, head_dim))
    {
    }

    KvRow key(int64_t row) const { return at(pool_.keys, row); }
    KvRow value(int64_t row) const { return at(pool_.values, row); }
    const KvPage& page() const { return page_; }
    // How many of the `wanted` rows, starting at `row`, are on the same page and therefore contiguous.
    static int64_t piece(int64_t row, int64_t wanted) { return std::min(wanted, page_rows - row % page_rows); }

private:
    KvRow at(std::byte* pool, int64_t row) const
    {
        std::byte* page = pool + static_cast<int64_t>(pages_[row / page_rows]) * page_.bytes();
        return {page + page_.elements_at(row % page_rows), page + page_.scales_at(row % page_rows)};
    }

    KvPool pool_;
    const uint32_t* pages_;
    KvPage page_;
};

} // namespace palimpsest::kernels
