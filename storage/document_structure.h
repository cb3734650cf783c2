// The sections and pages of a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace palimpsest::storage {

struct Section {
    std::string title{};
    uint64_t first_token = 0;
    uint64_t first_byte = 0;
    int level = 1; // 1: not within another
};

struct Page {
    std::string label{}; // as printed: "xii", "217"
    uint64_t first_token = 0;
    uint64_t first_byte = 0; // the same as that of the next page, if this one has no text
};

// The page that a token is on, wholly or at its end; null before the first. `pages`: as Library::pages.
const Page* page_of_token(const std::vector<Page>& pages, uint64_t token);

} // namespace palimpsest::storage
