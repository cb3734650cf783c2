// Which pages of the pool every list holds, and which are free. Knows no keys and no backend.
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
    // All tables, [lists, stride]; entries beyond those held have no meaning.
    std::span<const uint32_t> table() const { return table_; }

    // The list then holds at least so many pages. False, and nothing changed, if there are too few free ones.
    bool grow(size_t list, int64_t pages);
    // The list then holds at most so many; the last ones are given back.
    void shrink(size_t list, int64_t pages);

    bool consistent() const; // every page is free or held, once
    size_t allocated_bytes() const;

private:
    size_t at_of(size_t list, int64_t at) const
    {
        return list * static_cast<size_t>(stride_) + static_cast<size_t>(at);
    }

    void flip(uint32_t page);                 // free to held, and back
    uint32_t nearest_free(size_t list) const; // REQUIRES: free_count_ > 0, as below
    uint32_t first_free(uint32_t from) const;

    int64_t stride_;
    int64_t pages_;
    int64_t home_pages_; // of each list, in the order of lists: where its first page is looked for
    int64_t free_count_;
    std::vector<uint32_t> table_; // [lists, stride]
    std::vector<int64_t> held_;   // [lists]
    std::vector<uint64_t> free_;  // a bit for each page
};

} // namespace palimpsest::engine
