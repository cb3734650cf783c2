#include "engine/cache/page_tables.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

PageTables::PageTables(size_t lists, int64_t stride, int64_t pages)
    : stride_(stride), pages_(pages), home_pages_(pages / static_cast<int64_t>(lists)), free_count_(pages),
      table_(lists * static_cast<size_t>(stride)), held_(lists, 0), free_(static_cast<size_t>(pages), true)
{
}

bool PageTables::grow(size_t list, int64_t pages)
{
    assert(pages <= stride_);
    if (pages - held_[list] > free_count_) return false;
    for (; held_[list] < pages; ++held_[list]) {
        const uint32_t page = nearest_free(list);
        table_[at_of(list, held_[list])] = page;
        free_[page] = false;
        --free_count_;
    }
    return true;
}

void PageTables::shrink(size_t list, int64_t pages)
{
    for (; held_[list] > pages; ++free_count_)
        free_[table_[at_of(list, --held_[list])]] = true;
}

// In its home if it can be: what is read in a row should lie in a row. Then behind its last page, then anywhere.
uint32_t PageTables::nearest_free(size_t list) const
{
    const int64_t at = held_[list], home = static_cast<int64_t>(list) * home_pages_ + at;
    if (at < home_pages_ && free_[static_cast<size_t>(home)]) return static_cast<uint32_t>(home);
    const auto from = free_.begin() + (at > 0 ? page(list, at - 1) : home);
    auto found = std::find(from, free_.end(), true);
    if (found == free_.end()) found = std::find(free_.begin(), from, true);
    return static_cast<uint32_t>(found - free_.begin());
}

bool PageTables::consistent() const
{
    std::vector<bool> unheld(free_.size(), true);
    for (size_t list = 0; list < held_.size(); ++list)
        for (int64_t at = 0; at < held_[list]; ++at) {
            if (!unheld.at(page(list, at))) return false; // held twice
            unheld[page(list, at)] = false;
        }
    return unheld == free_ && std::count(free_.begin(), free_.end(), true) == free_count_;
}

size_t PageTables::allocated_bytes() const
{
    return table_.capacity() * sizeof(uint32_t) + held_.capacity() * sizeof(int64_t) + free_.capacity() / 8;
}

} // namespace palimpsest::engine
