// Implementations of PageReader: over the database, and over the memory of a session that is not saved.
#pragma once

#include <QString>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "storage/conversations.h"
#include "storage/library.h"
#include "ui/document/text_outline.h"
#include "ui/document/text_page.h"

namespace palimpsest::ui {

// Returns the bytes of a token of the session's model (Tokenizer::surface). Called on the worker thread.
using TokenBytes = std::function<const std::string&(engine::TokenId)>;

// The text of a part, with the byte offset after each token.
struct PartText {
    std::string text;
    std::vector<uint64_t> ends;
};

// Divides the text of a message among its token ids, by the bytes of each id. Ids around the text (template
// markers) get no bytes. Without `bytes`, or if the ids do not spell the text, each id gets an equal share, cut at
// character boundaries.
PartText message_text(const std::string& text, std::span<const engine::TokenId> ids, const TokenBytes& bytes);

// Reads pages from the database over its own read-only connection. Memory: one document block and one message.
// Throws the errors of storage::Database.
class StoredPages : public PageReader {
public:
    StoredPages(const QString& database, TextOutline outline, TokenBytes bytes);

    TextPage read(uint64_t first, uint64_t count) override;
    // Binary search in the token ends: O(log n) reads for a document of n tokens.
    StreamRange tokens_of(const TextPart& document, ByteRange bytes) override;

private:
    uint64_t token_at(const TextPart& document, uint64_t byte);
    void append_document(const TextPart& part, StreamRange range, TextPage& page);
    void append_message(const TextPart& part, StreamRange range, TextPage& page);
    void append_text(int64_t document, uint64_t begin, uint64_t end, std::string& out);

    storage::Database database_;
    storage::Library library_;
    storage::Conversations conversations_;
    TextOutline outline_;
    TokenBytes bytes_;
    int64_t block_document_ = -1, block_index_ = -1; // of block_
    std::string block_;
    int64_t message_ = -1; // of message_text_
    PartText message_text_;
};

// Returns a TextSource::OpenReader for StoredPages.
std::function<std::unique_ptr<PageReader>()> stored_pages(const QString& database, const TextOutline& outline,
                                                          const TokenBytes& bytes);

// Reads pages from texts that the caller provides: one text for each part that is not framing.
class MemoryPages : public PageReader {
public:
    using Texts = std::map<uint64_t, PartText>; // by the part's first stream index
    MemoryPages(TextOutline outline, std::shared_ptr<const Texts> texts);

    TextPage read(uint64_t first, uint64_t count) override;
    StreamRange tokens_of(const TextPart& document, ByteRange bytes) override;

private:
    TextOutline outline_;
    std::shared_ptr<const Texts> texts_;
};

} // namespace palimpsest::ui
