// Stored documents: text, token ids, and the byte range of each token in the text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/document_encoder.h"
#include "kernels/base/error.h"
#include "storage/database.h"
#include "storage/document_blocks.h"
#include "storage/document_structure.h"

namespace palimpsest::storage {

struct DocumentInfo {
    int64_t id = 0;
    std::string title{};
    std::string source{};    // path, or "-"
    std::string tokenizer{}; // fingerprint of the model whose ids are stored
    uint64_t bytes = 0;      // of cleaned text
    uint64_t words = 0;
    uint64_t tokens = 0;
    uint64_t invalid_sequences = 0;
    uint64_t nul_characters = 0;
    int64_t source_bytes = -1; // size of the original file, before cleaning; -1: unknown
    int64_t source_hash = 0;   // XXH3-64 of the original file
    int64_t created_ms = 0;
    std::string format{};             // as a user calls it: "EPUB"; empty: not known
    std::string author{}, language{}; // as the document says; empty: it does not
    int64_t kept_ms = 0;              // when it was added to the library; 0: it goes with its last session
};

// Deletes the documents that meet an SQL condition, in which ?1 is `parameter`, with their passages and the words
// of these in the index. Within a transaction.
void delete_documents(Database& database, const std::string& condition, int64_t parameter = 0);
// An SQL condition: no session uses the document, and it was not added to the library.
extern const char* const is_unused_document;
// Throws the Error (Failed, PAL-DOC-05) for a stored document that is damaged.
[[noreturn]] void refuse_damaged_document(int64_t document);

class Library {
public:
    explicit Library(Database& database) : db_(database) {}

    DocumentInfo get(int64_t document); // Throws Error (NotFound, PAL-DOC-00).
    std::vector<DocumentInfo> list();
    void remove(int64_t document);

    // Adds a document to the library, so that it stays without sessions; no effect if it is in it. Throws Error
    // (NotFound, PAL-DOC-00).
    void keep(int64_t document);
    // Takes documents out of the library. Deletes those that no session uses permanently, as erase does.
    std::optional<Error> stop_keeping(std::span<const int64_t> documents);
    // Names of the sessions whose streams have a document, in alphabetical order; of one, or of all documents.
    std::vector<std::string> sessions_of(int64_t document);
    std::map<int64_t, std::vector<std::string>> sessions_of_all();
    // How a document was made here from its file; nullopt: by an older version, or elsewhere.
    struct Making {
        bool first_text =
            false;          // its ids are those of a text that begins its stream, and would be others elsewhere
        int64_t parser = 0; // version of what made the text of the file
        bool operator==(const Making&) const = default;
    };
    void set_making(int64_t document, const Making& making);
    std::optional<Making> making(int64_t document);
    // Complete documents with ids of this model that were made so, from files of this size, oldest first.
    std::vector<DocumentInfo> made_so(const std::string& tokenizer, int64_t source_bytes, const Making& making);
    // Another file with the same content; without effect for one that is known.
    void add_source(int64_t document, const std::string& source);
    std::vector<std::string> sources(int64_t document); // DocumentInfo::source first

    // Tokens [first, first + count) of a document; fewer at its end. Throws Error (Failed, PAL-DOC-05) if damaged.
    std::vector<engine::TokenId> ids(int64_t document, uint64_t first, uint64_t count);
    // End offsets, in bytes of the cleaned text, of the tokens [first, first + count); fewer at the document's end.
    // Decompresses the blocks of 65,536 tokens that contain them; for documents imported by an older version, also
    // all blocks before. Throws Error like ids.
    std::vector<uint64_t> token_ends(int64_t document, uint64_t first, uint64_t count);
    // Block `index` of the cleaned text; empty past the last.
    std::string text_block(int64_t document, int64_t index);
    // Bytes [first, end) of the cleaned text; fewer at its end.
    std::string text(int64_t document, uint64_t first, uint64_t end);
    std::vector<Section> sections(int64_t document);
    std::vector<Page> pages(int64_t document);                     // empty if it has none
    std::vector<std::string> pages_without_text(int64_t document); // labels
    // The notes that the reader process gave while it parsed the document, in the form of encoded_notes()
    // (storage/reader/note_messages.h). Empty if it gave none, if an earlier version stored the document, or if the
    // stored notes are damaged.
    std::string reader_notes(int64_t document);
    // Reads all blocks of text and tokens and checks their number and checksums. Returns the number of tokens.
    uint64_t verify(int64_t document);

    void sweep(); // removes incomplete imports and unused documents

private:
    std::vector<std::string> texts(const char* sql, int64_t document);
    std::optional<std::vector<std::byte>> block(int64_t document, DocumentBlock kind, int64_t index);
    std::vector<uint64_t> lengths(int64_t document,
                                  int64_t index); // of a block's tokens in bytes; empty past the last block
    uint64_t start_of_block(int64_t document, int64_t index); // byte offset in the text

    Database& db_;
};

} // namespace palimpsest::storage
