// The documents that were read: their text, their token ids, and where in the text each token stands.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/document_encoder.h"
#include "storage/database.h"

namespace palimpsest::storage {

struct DocumentInfo {
    int64_t id = 0;
    std::string title{};
    std::string source{};    // path, or "-"
    std::string tokenizer{}; // fingerprint of the model whose ids are stored
    uint64_t bytes = 0;      // of the cleaned text
    uint64_t words = 0;
    uint64_t tokens = 0;
    uint64_t invalid_sequences = 0;
    uint64_t nul_characters = 0;
    int64_t source_bytes = -1; // of the file as it was, before cleaning; -1: not known
    int64_t source_hash = 0;   // XXH3-64 of them
    int64_t created_ms = 0;
};

struct Section {
    std::string title{};
    uint64_t first_token = 0;
    uint64_t first_byte = 0;
};

class Library {
public:
    static constexpr uint64_t text_block_bytes = 256 * 1024; // of every block but a document's last

    explicit Library(Database& database) : db_(database) {}

    DocumentInfo get(int64_t document); // Throws Error (NotFound, PAL-DOC-00).
    std::vector<DocumentInfo> list();
    void remove(int64_t document);

    // Tokens [first, first + count) of a document, fewer at its end. Throws Error (Failed, PAL-DOC-05) if they are
    // damaged.
    std::vector<engine::TokenId> ids(int64_t document, uint64_t first, uint64_t count);
    // Where in the cleaned text the tokens [first, first + count) end, in bytes; fewer at the document's end.
    // Unpacks the blocks of 65,536 tokens that these lie in; of a document that an older version took in, all
    // before them too. Throws Error as ids does.
    std::vector<uint64_t> token_ends(int64_t document, uint64_t first, uint64_t count);
    // The cleaned text, block by block; empty behind the last.
    std::string text_block(int64_t document, int64_t index);
    std::vector<Section> sections(int64_t document);
    // Reads all blocks and compares their checksums and number. Returns the tokens.
    uint64_t verify(int64_t document);

    void sweep(); // what an import that was cut short left behind: half of a document, or one in no session

private:
    friend class Import;
    std::optional<std::vector<std::byte>> block(int64_t document, int kind, int64_t index);
    std::vector<uint64_t> lengths(int64_t document,
                                  int64_t index);             // of the tokens of a block; empty behind the last
    uint64_t start_of_block(int64_t document, int64_t index); // in the text

    Database& db_;
};

// Takes a document in while it is read: memory is that of a few blocks. Nothing of it is there for others until
// finish.
class Import {
public:
    Import(Database& database, const std::string& title, const std::string& source, const std::string& tokenizer);
    ~Import(); // without finish nothing stays behind
    Import(const Import&) = delete;
    Import& operator=(const Import&) = delete;

    void add_text(std::string_view clean);
    void add_tokens(std::span<const engine::EncodedToken> tokens); // `end`: byte in the cleaned text
    void add_section(const Section& section);                      // stored with the next block, or by finish
    // `info`: words, invalid_sequences, nul_characters, source_bytes and source_hash. Returns the document's id.
    int64_t finish(const DocumentInfo& info);

private:
    void put_text();
    void put_tokens();
    void put(int kind, int64_t index, std::span<const std::byte> raw);
    void put_sections(); // within a transaction

    Database& db_;
    int64_t id_ = 0;
    bool finished_ = false;
    std::string text_;
    std::vector<uint32_t> ids_;
    std::vector<std::byte> lengths_; // varints, of ids_
    std::vector<Section> sections_;  // to be stored
    int64_t text_blocks_ = 0, token_blocks_ = 0, sections_stored_ = 0;
    uint64_t bytes_ = 0, tokens_ = 0, last_end_ = 0;
    uint64_t block_start_ = 0; // in the text, of the tokens in ids_
};

} // namespace palimpsest::storage
