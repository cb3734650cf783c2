#include "storage/document_structure.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
const Page* page_of_token(const std::vector<Page>& pages, uint64_t token)
{
    const auto next = std::ranges::upper_bound(pages, token, {}, &Page::first_token);
    return next == pages.begin() ? nullptr : &*std::prev(next);
}

} // namespace palimpsest::storage
