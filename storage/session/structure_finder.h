// Finds the sections and pages of a document while it is read, and the tokens at which they begin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/text/section_finder.h"
#include "storage/document_structure.h"
#include "storage/session/document.h"

namespace palimpsest::storage {

class StructureFinder {
public:
    explicit StructureFinder(Document& document) : document_(&document) {} // which must outlive this
    // Finds the first tokens of a structure whose bytes are known, for a document that is tokenized again.
    StructureFinder(std::span<const Section> sections, std::vector<Page> pages);

    // The text that document.next() returned last, cleaned, and the tokens that are complete by now.
    void push(std::string_view clean, std::span<const engine::EncodedToken> tokens);
    void finish(); // after the last text and token

    // Return and remove, in order, those whose first token is known.
    std::vector<Section> take_sections();
    std::vector<Page> take_pages();

private:
    void take_from_document();

    Document* document_ = nullptr;
    std::optional<engine::SectionFinder> sections_; // once something of the document was read
    std::vector<Page> pages_;
    size_t placed_ = 0; // number of pages whose token is known
    uint64_t tokens_ = 0;
};

} // namespace palimpsest::storage
