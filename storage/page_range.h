// The pages that a stretch of a document stands on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "storage/document_structure.h"

namespace palimpsest::storage {

struct PageRange {
    std::string first{}, last{}; // labels; both empty: none; equal: one page

    bool empty() const { return first.empty() && last.empty(); }
    bool is_one_page() const { return first == last; }
    bool operator==(const PageRange&) const = default;
};

// The pages of the tokens [first, end). A stretch that begins before the first page has those that it reaches.
// `pages`: as Library::pages. O(log pages).
PageRange pages_of(const std::vector<Page>& pages, uint64_t first, uint64_t end);

// `page 12`, or `pages 12–14`. The labels are those of a document: `pages` has them as they may be shown.
// REQUIRES: !pages.empty()
Text page_words(const PageRange& pages);

} // namespace palimpsest::storage
