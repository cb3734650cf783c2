// Stores a document while it is being read: its text, tokens and sections, and then its passages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/document_encoder.h"
#include "storage/database.h"
#include "storage/document_blocks.h"
#include "storage/library.h"

namespace palimpsest::storage {

// Holds only a few blocks in memory. Other readers do not see the document before finish.
class Import {
public:
    Import(Database& database, const std::string& title, const std::string& source, const std::string& tokenizer);
    ~Import(); // removes the document unless finish was called
    Import(const Import&) = delete;
    Import& operator=(const Import&) = delete;

    void add_text(std::string_view clean);
    void add_tokens(std::span<const engine::EncodedToken> tokens); // `end`: byte offset in the cleaned text
    // Both are stored with the next block, or by finish.
    void add_section(const Section& section);
    void add_page(const Page& page);
    // As Library::reader_notes; stored by finish.
    void set_reader_notes(std::string notes) { reader_notes_ = std::move(notes); }
    // Indexes the passages, then makes the document visible. Uses title, words, invalid_sequences,
    // nul_characters, source_bytes, source_hash, format, author and language of `info`; an empty title changes
    // nothing. Returns the document's id; nullopt if `go_on`, which is called now
    // and then while indexing, returned false.
    std::optional<int64_t> finish(const DocumentInfo& info, const std::function<bool()>& go_on);
    int64_t finish(const DocumentInfo& info) { return *finish(info, {}); }

private:
    void put_text();
    void put_tokens();
    void put(DocumentBlock kind, int64_t index, std::span<const std::byte> raw);
    void put_structure(); // within a transaction
    void put_metadata(const DocumentInfo& info);

    Database& db_;
    int64_t id_ = 0;
    bool finished_ = false;
    std::string text_;
    std::vector<uint32_t> ids_;
    std::vector<std::byte> lengths_; // varints, one per token in ids_
    std::vector<Section> sections_;  // not stored yet
    std::vector<Page> pages_;        // likewise
    std::string reader_notes_;
    int64_t text_blocks_ = 0, token_blocks_ = 0, sections_stored_ = 0, pages_stored_ = 0;
    uint64_t bytes_ = 0, tokens_ = 0, last_end_ = 0;
    uint64_t block_start_ = 0; // byte offset in the text of the first token in ids_
};

} // namespace palimpsest::storage
