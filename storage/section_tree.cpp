#include "storage/section_tree.h"

#include <algorithm>
#include <utility>

namespace palimpsest::storage {

SectionTree::SectionTree(std::vector<Section> sections) : sections_(std::move(sections))
{
    parents_.reserve(sections_.size());
    for (size_t i = 0; i < sections_.size(); ++i) {
        std::optional<size_t> parent;
        if (i > 0 && sections_[i].level > 1) parent = i - 1;
        while (parent && sections_[*parent].level >= sections_[i].level)
            parent = parents_[*parent];
        parents_.push_back(parent);
    }
}

std::vector<const Section*> SectionTree::path(size_t index) const
{
    std::vector<const Section*> path;
    for (std::optional<size_t> at = index; at; at = parents_[*at])
        path.push_back(&sections_[*at]);
    std::ranges::reverse(path);
    return path;
}

std::optional<size_t> SectionTree::of_token(uint64_t token) const
{
    const auto next = std::ranges::upper_bound(sections_, token, {}, &Section::first_token);
    if (next == sections_.begin()) return std::nullopt;
    return static_cast<size_t>(next - sections_.begin()) - 1;
}

} // namespace palimpsest::storage
