// The sections of a document, each with the one that it is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "storage/document_structure.h"

namespace palimpsest::storage {

class SectionTree {
public:
    // Cost: linear. A section is within the last one before it that has a lower level.
    explicit SectionTree(std::vector<Section> sections = {});

    const std::vector<Section>& all() const { return sections_; }
    // The sections that section `index` is in, outermost first, and itself. Cost: a step for each of them.
    // REQUIRES: index < all().size()
    std::vector<const Section*> path(size_t index) const;
    // The last section that begins with the token or before it; nullopt: none. O(log sections).
    std::optional<size_t> of_token(uint64_t token) const;

private:
    std::vector<Section> sections_;
    std::vector<std::optional<size_t>> parents_;
};

} // namespace palimpsest::storage
