#include "engine/cache/page_tables.h"

#include <bit>
#include <cassert>

namespace palimpsest::engine {

namespace {

constexpr uint32_t word_pages = 64;

} // namespace

PageTables::PageTables(size_t lists, int64_t stride, int64_t pages)
    : stride_(stride), pages_(pages), home_pages_(pages / static_cast<int64_t>(lists)), free_count_(pages),
      table_(lists * static_cast<size_t>(stride)), held_(lists, 0),
      free_(static_cast<size_t>((pages + word_pages - 1) / word_pages))
{
    for (int64_t page = 0; page < pages; ++page)
        flip(static_cast<uint32_t>(page));
}

void PageTables::flip(uint32_t page)
{
    free_[page / word_pages] ^= uint64_t{1} << page % word_pages;
}

bool PageTables::grow(size_t list, int64_t pages)
{
    assert(pages <= stride_);
    if (pages - held_[list] > free_count_) return false;
    for (; held_[list] < pages; ++held_[list], --free_count_) {
        const uint32_t page = nearest_free(list);
        table_[at_of(list, held_[list])] = page;
        flip(page);
    }
    return true;
}

void PageTables::shrink(size_t list, int64_t pages)
{
    for (; held_[list] > pages; ++free_count_)
        flip(table_[at_of(list, --held_[list])]);
}

// Searches from the list's last page, or from its home if it has none, so that a list's pages are mostly
// contiguous.
uint32_t PageTables::nearest_free(size_t list) const
{
    const int64_t at = held_[list];
    return first_free(at > 0 ? page(list, at - 1)
                             : static_cast<uint32_t>(static_cast<int64_t>(list) * home_pages_));
}

// Searches from this page on and wraps around at the end.
uint32_t PageTables::first_free(uint32_t from) const
{
    size_t word = from / word_pages;
    uint64_t bits = word < free_.size() ? free_[word] >> from % word_pages << from % word_pages : 0;
    while (bits == 0) {
        word = word + 1 < free_.size() ? word + 1 : 0;
        bits = free_[word];
    }
    return static_cast<uint32_t>(word * word_pages) + static_cast<uint32_t>(std::countr_zero(bits));
}

bool PageTables::consistent() const
{
    std::vector<uint64_t> unheld(free_);
    int64_t held = 0, free = 0;
    for (size_t list = 0; list < held_.size(); ++list)
        for (int64_t at = 0; at < held_[list]; ++at, ++held) {
            uint64_t& word = unheld.at(page(list, at) / word_pages);
            const uint64_t bit = uint64_t{1} << page(list, at) % word_pages;
            if ((word & bit) != 0) return false; // free, or held twice
            word |= bit;
        }
    for (const uint64_t word : free_)
        free += std::popcount(word);
    return free == free_count_ && held + free == pages_;
}

size_t PageTables::allocated_bytes() const
{
    return table_.capacity() * sizeof(uint32_t) + held_.capacity() * sizeof(int64_t) +
           free_.capacity() * sizeof(uint64_t);
}

} // namespace palimpsest::engine
