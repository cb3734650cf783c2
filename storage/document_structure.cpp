#include "storage/document_structure.h"

#include <algorithm>
#include <iterator>

namespace palimpsest::storage {
std::vector<const Section*> section_path(const std::vector<Section>& sections, size_t index)
{
    std::vector<const Section*> path{&sections[index]};
    for (size_t i = index; i-- > 0 && path.back()->level > 1;)
        if (sections[i].level < path.back()->level) path.push_back(&sections[i]);
    std::ranges::reverse(path);
    return path;
}

const Page* page_of_token(const std::vector<Page>& pages, uint64_t token)
{
    const auto next = std::ranges::upper_bound(pages, token, {}, &Page::first_token);
    return next == pages.begin() ? nullptr : &*std::prev(next);
}

} // namespace palimpsest::storage
