#include "storage/page_range.h"

#include <algorithm>

namespace palimpsest::storage {

PageRange pages_of(const std::vector<Page>& pages, uint64_t first, uint64_t end)
{
    const Page* last = page_of_token(pages, std::max(end, first + 1) - 1);
    if (!last) return {};
    const Page* begin = page_of_token(pages, first);
    return {.first = begin ? begin->label : pages.front().label, .last = last->label};
}

Text page_words(const PageRange& pages)
{
    return pages.is_one_page() ? Text("page {0}", pages.first) : Text("pages {0}–{1}", pages.first, pages.last);
}

} // namespace palimpsest::storage
