// Where pages come from: the user's database, or vectors of a session that is not saved.
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

// The bytes a token of the session's model stands for (Tokenizer::surface). Called on the loader's thread.
using TokenBytes = std::function<const std::string&(engine::TokenId)>;

// A part's text with the end of each token.
struct PartText {
    std::string text;
    std::vector<uint64_t> ends;
};

// Which bytes of a message's text each of its ids stands for. Ids around the text (template markers) have none.
// Without `bytes`, or where the ids do not spell the text, it is shared out evenly at character boundaries.
PartText message_text(const std::string& text, std::span<const engine::TokenId> ids, const TokenBytes& bytes);

// Reads `outline` from the database with a read-only connection of its own. Memory: two blocks of a document and
// one message. Throws Error as Database does.
class StoredPages : public PageReader {
public:
    StoredPages(const QString& database, TextOutline outline, TokenBytes bytes);

    TextPage read(uint64_t first, uint64_t count) override;
    // Reads as many stretches of the tokens' ends as the logarithm of the document's length.
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
    int64_t block_document_ = -1, block_index_ = -1; // of `block_`
    std::string block_;
    int64_t message_ = -1; // of `message_text_`
    PartText message_text_;
};

// Opens StoredPages on a loader's thread (TextSource::OpenReader).
std::function<std::unique_ptr<PageReader>()> stored_pages(const QString& database, const TextOutline& outline,
                                                          TokenBytes bytes);

// Over texts that the caller filled: one for each part of the outline that is not framing.
class MemoryPages : public PageReader {
public:
    using Texts = std::map<uint64_t, PartText>; // by first stream index of the part
    MemoryPages(TextOutline outline, std::shared_ptr<const Texts> texts);

    TextPage read(uint64_t first, uint64_t count) override;
    StreamRange tokens_of(const TextPart& document, ByteRange bytes) override;

private:
    TextOutline outline_;
    std::shared_ptr<const Texts> texts_;
};

} // namespace palimpsest::ui
