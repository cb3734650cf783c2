// Page tables: which pages of the pool each list holds, and which are free. Independent of keys and backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace palimpsest::engine {

class PageTables {
public:
    PageTables(size_t lists, int64_t stride, int64_t pages); // stride: the most pages one list may hold

    int64_t held(size_t list) const { return held_[list]; }
    uint32_t page(size_t list, int64_t at) const { return table_[at_of(list, at)]; }
    // All tables, [lists, stride]; entries beyond the held pages are undefined.
    std::span<const uint32_t> table() const { return table_; }

    // Grows the list to at least `pages` pages. Returns false and changes nothing if too few are free.
    bool grow(size_t list, int64_t pages);
    // Shrinks the list to at most `pages` pages, freeing its last ones.
    void shrink(size_t list, int64_t pages);

    bool consistent() const; // true if every page is either free or held by one list
    size_t allocated_bytes() const;

private:
    size_t at_of(size_t list, int64_t at) const
    {
        return list * static_cast<size_t>(stride_) + static_cast<size_t>(at);
    }

    void flip(uint32_t page);                 // between free and held
    uint32_t nearest_free(size_t list) const; // REQUIRES: free_count_ > 0
    uint32_t first_free(uint32_t from) const; // REQUIRES: free_count_ > 0

    int64_t stride_;
    int64_t pages_;
    int64_t home_pages_; // pages / lists; the search for a list's first page starts at list * home_pages_
    int64_t free_count_;
    std::vector<uint32_t> table_; // [lists, stride]
    std::vector<int64_t> held_;   // [lists]
    std::vector<uint64_t> free_;  // one bit per page; 1: free
};

} // namespace palimpsest::engine
