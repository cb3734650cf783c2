// Stores a document while it is encoded: text, tokens, and the sections that are found in it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/text/section_finder.h"
#include "storage/document_import.h"
#include "storage/session/document.h"
#include "storage/session/reading.h"

namespace palimpsest::storage {

class EncodedImport {
public:
    // `source`: as DocumentInfo::source. `tokenizer`: fingerprint of the model. The document must outlive this.
    EncodedImport(Database& database, Document& document, const std::string& source, const std::string& tokenizer);

    void push(std::string_view clean, std::span<const engine::EncodedToken> tokens); // an EncodedSink
    // Stores the rest; as Import::finish. `coverage`: of the whole document.
    std::optional<int64_t> finish(const Coverage& coverage, const std::function<bool()>& go_on);

private:
    engine::SectionFinder& finder();
    void add_sections();

    Document& document_;
    Import import_;
    std::optional<engine::SectionFinder> finder_; // once something of the document was read
};

} // namespace palimpsest::storage
