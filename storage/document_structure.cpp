#include "storage/document_structure.h"

#include <algorithm>
#include <functional>

namespace palimpsest::storage {
namespace {

const Page* last_up_to(const std::vector<Page>& pages, uint64_t place, uint64_t Page::*first)
{
    const auto next = std::ranges::upper_bound(pages, place, {}, first);
    return next == pages.begin() ? nullptr : &*std::prev(next);
}

} // namespace

std::vector<const Section*> section_path(const std::vector<Section>& sections, size_t index)
{
    std::vector<const Section*> path{&sections[index]};
    for (size_t i = index; i-- > 0 && path.back()->level > 1;)
        if (sections[i].level < path.back()->level) path.push_back(&sections[i]);
    std::ranges::reverse(path);
    return path;
}

std::string section_name(const std::vector<Section>& sections, size_t index)
{
    std::string name;
    for (const Section* section : section_path(sections, index))
        name += (name.empty() ? "" : " \u203A ") + section->title;
    return name;
}

const Page* page_at(const std::vector<Page>& pages, uint64_t byte)
{
    return last_up_to(pages, byte, &Page::first_byte);
}

const Page* page_of_token(const std::vector<Page>& pages, uint64_t token)
{
    return last_up_to(pages, token, &Page::first_token);
}

std::vector<std::string> pages_without_text(const std::vector<Page>& pages, uint64_t text_bytes)
{
    std::vector<std::string> labels;
    for (size_t i = 0; i < pages.size(); ++i) {
        const uint64_t end = i + 1 < pages.size() ? pages[i + 1].first_byte : text_bytes;
        if (pages[i].first_byte >= end) labels.push_back(pages[i].label);
    }
    return labels;
}

} // namespace palimpsest::storage
