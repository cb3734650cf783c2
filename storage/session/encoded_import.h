// Stores a document while it is encoded: text, tokens, and the sections and pages that are found in it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/document_import.h"
#include "storage/session/document.h"
#include "storage/session/reading.h"
#include "storage/session/structure_finder.h"

namespace palimpsest::storage {

class EncodedImport {
public:
    // `source`: as DocumentInfo::source. `tokenizer`: fingerprint of the model. The document must outlive this.
    EncodedImport(Database& database, Document& document, const std::string& source, const std::string& tokenizer);

    void push(std::string_view clean, std::span<const engine::EncodedToken> tokens); // an EncodedSink
    // Stores the rest; as Import::finish. `coverage`: of the whole document. A title in the document replaces that
    // of its file.
    std::optional<int64_t> finish(const Coverage& coverage, const std::function<bool()>& go_on);

private:
    void add_structure();

    Document& document_;
    Import import_;
    StructureFinder structure_;
};

} // namespace palimpsest::storage
