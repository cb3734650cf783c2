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
    EncodedImport(Database& database, const Document& document, const std::string& source,
                  const std::string& tokenizer);

    void push(std::string_view clean, std::span<const engine::EncodedToken> tokens); // an EncodedSink
    // Stores the rest; as Import::finish. `coverage`: of the whole document.
    std::optional<int64_t> finish(const Coverage& coverage, const std::function<bool()>& go_on);

private:
    void add_sections();

    const Document& document_;
    Import import_;
    engine::SectionFinder finder_;
};

} // namespace palimpsest::storage
