#include "engine/cache/page_tables.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace palimpsest::engine {

PageTables::PageTables(size_t lists, int64_t stride, int64_t pages)
    : stride_(stride), pages_(pages), table_(lists * static_cast<size_t>(stride)), held_(lists, 0),
      free_(static_cast<size_t>(pages))
{
    std::iota(free_.rbegin(), free_.rend(), 0u);
}

bool PageTables::grow(size_t list, int64_t pages)
{
    assert(pages <= stride_);
    if (pages - held_[list] > std::ssize(free_)) return false;
    for (; held_[list] < pages; ++held_[list]) {
        table_[at_of(list, held_[list])] = free_.back();
        free_.pop_back();
    }
    return true;
}

void PageTables::shrink(size_t list, int64_t pages)
{
    while (held_[list] > pages)
        free_.push_back(table_[at_of(list, --held_[list])]);
}

bool PageTables::consistent() const
{
    std::vector<uint32_t> all(free_);
    for (size_t list = 0; list < held_.size(); ++list)
        for (int64_t at = 0; at < held_[list]; ++at)
            all.push_back(page(list, at));
    if (std::ssize(all) != pages_) return false;
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i)
        if (all[i] != i) return false;
    return true;
}

size_t PageTables::allocated_bytes() const
{
    return (table_.capacity() + free_.capacity()) * sizeof(uint32_t) + held_.capacity() * sizeof(int64_t);
}

} // namespace palimpsest::engine
