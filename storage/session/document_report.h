// A document as JSON documents show it: what it says of itself, its sections and its pages.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "storage/document_structure.h"
#include "storage/library.h"

namespace palimpsest::storage {

struct DocumentReport {
    std::string title{}, format{}, author{}, language{}; // empty: not known
    uint64_t first_token = 0;                            // its place in the stream
    uint64_t tokens = 0;
    std::vector<Section> sections{};
    std::vector<Page> pages{};

    static DocumentReport of(Library& library, const DocumentInfo& document, uint64_t first_token);
    nlohmann::ordered_json json() const; // docs/formats.md, Documents
};

} // namespace palimpsest::storage
