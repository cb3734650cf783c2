#include "ui/document/page_readers.h"

#include <algorithm>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::ui {
namespace {

constexpr uint64_t ends_at_once = 4096; // a binary search ends at this many tokens and reads their ends in one go

// Calls sink(part, range) for each piece of [first, first + count) that belongs to one part.
template<class Sink>
void each_part(const TextOutline& outline, uint64_t first, uint64_t count, Sink&& sink)
{
    const uint64_t last = std::min(first + count, outline.tokens);
    while (first < last) {
        const TextPart& part = outline.part_of(first);
        const uint64_t end = std::min(last, part.range.last);
        sink(part, StreamRange{first, end});
        first = end;
    }
}

void append_framing(uint64_t tokens, TextPage& page)
{
    page.ends.insert(page.ends.end(), tokens, static_cast<uint32_t>(page.text.size()));
}

void append_part(const PartText& part, uint64_t first, uint64_t last, TextPage& page)
{
    const uint64_t there = std::min<uint64_t>(last, part.ends.size());
    const uint64_t begin = first == 0 || first > part.ends.size() ? 0 : part.ends[first - 1];
    const size_t old = page.text.size();
    for (uint64_t token = first; token < there; ++token)
        page.ends.push_back(static_cast<uint32_t>(old + part.ends[token] - begin));
    if (there > first) page.text.append(part.text, begin, part.ends[there - 1] - begin);
    append_framing(last - std::max(there, first), page);
}

[[noreturn]] void refuse_damaged(Text name)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument, std::move(name),
                Text("what is stored of it is damaged"), Text("import it again"));
}

uint64_t token_with(const std::vector<uint64_t>& ends, uint64_t byte)
{
    return static_cast<uint64_t>(std::ranges::upper_bound(ends, byte) - ends.begin());
}

// Returns the tokens of `document` that spell `bytes`. `token_of` maps a byte to its token in the document.
template<class TokenOf>
StreamRange tokens_between(const TextPart& document, ByteRange bytes, TokenOf&& token_of)
{
    const uint64_t last = token_of(std::max(bytes.last, bytes.first + 1) - 1);
    const uint64_t end = document.range.first + last + 1;
    return {std::min(document.range.first + token_of(bytes.first), document.range.last - 1),
            std::min(end, document.range.last)};
}

std::vector<uint64_t> even_ends(const std::string& text, size_t tokens)
{
    std::vector<uint64_t> ends(tokens);
    for (size_t i = 0; i < tokens; ++i) {
        size_t end = text.size() * (i + 1) / tokens;
        while (end < text.size() && engine::is_utf8_continuation(text[end]))
            ++end;
        ends[i] = end;
    }
    return ends;
}

} // namespace

PartText message_text(const std::string& text, std::span<const engine::TokenId> ids, const TokenBytes& bytes)
{
    PartText out{text, {}};
    std::string spelled;
    std::vector<uint64_t> ends;
    for (const engine::TokenId id : ids) {
        if (bytes) spelled += bytes(id);
        ends.push_back(spelled.size());
    }
    const size_t at = bytes ? spelled.find(text) : std::string::npos;
    if (at == std::string::npos) {
        out.ends = even_ends(text, ids.size());
        return out;
    }
    for (uint64_t& end : ends)
        end = std::clamp<uint64_t>(end, at, at + text.size()) - at;
    out.ends = std::move(ends);
    return out;
}

StoredPages::StoredPages(const QString& database, TextOutline outline, TokenBytes bytes)
    : database_(database.toStdString(), storage::Database::Access::Read), library_(database_),
      conversations_(database_), outline_(std::move(outline)), bytes_(std::move(bytes))
{
}

TextPage StoredPages::read(uint64_t first, uint64_t count)
{
    TextPage page{.first = first, .text = {}, .ends = {}};
    each_part(outline_, first, count, [&](const TextPart& part, StreamRange range) {
        const StreamRange within{range.first - part.range.first, range.last - part.range.first};
        if (part.kind == PartKind::Framing) return append_framing(range.last - range.first, page);
        part.kind == PartKind::Document ? append_document(part, within, page) : append_message(part, within, page);
    });
    return page;
}

void StoredPages::append_document(const TextPart& part, StreamRange range, TextPage& page)
{
    const uint64_t before = range.first > 0 ? 1 : 0;
    const auto ends = library_.token_ends(part.id, range.first - before, range.last - range.first + before);
    if (ends.size() != range.last - range.first + before) refuse_damaged(Text::escaped(part.title.toStdString()));
    const uint64_t begin = before ? ends.front() : 0, old = page.text.size();
    for (size_t i = before; i < ends.size(); ++i)
        page.ends.push_back(static_cast<uint32_t>(old + ends[i] - begin));
    append_text(part.id, begin, ends.back(), page.text);
}

void StoredPages::append_text(int64_t document, uint64_t begin, uint64_t end, std::string& out)
{
    while (begin < end) {
        const auto index = static_cast<int64_t>(begin / storage::text_block_bytes);
        if (document != block_document_ || index != block_index_) {
            block_ = library_.text_block(document, index);
            block_document_ = document, block_index_ = index;
        }
        const uint64_t within = begin % storage::text_block_bytes;
        if (within >= block_.size()) refuse_damaged(Text("document {0}", document));
        const uint64_t part = std::min(end - begin, block_.size() - within);
        out.append(block_, within, part);
        begin += part;
    }
}

void StoredPages::append_message(const TextPart& part, StreamRange range, TextPage& page)
{
    if (message_ != part.id) {
        const auto message = conversations_.message(part.id);
        message_text_ = message ? ui::message_text(message->text, message->ids, bytes_) : PartText{};
        message_ = part.id;
    }
    append_part(message_text_, range.first, range.last, page);
}

StreamRange StoredPages::tokens_of(const TextPart& document, ByteRange bytes)
{
    return tokens_between(document, bytes, [&](uint64_t byte) { return token_at(document, byte); });
}

uint64_t StoredPages::token_at(const TextPart& document, uint64_t byte)
{
    uint64_t first = 0, last = document.range.last - document.range.first;
    while (last - first > ends_at_once) {
        const uint64_t middle = first + (last - first) / 2;
        const auto before = library_.token_ends(document.id, middle - 1, 1);
        if (before.empty()) refuse_damaged(Text::escaped(document.title.toStdString()));
        (before.front() > byte ? last : first) = middle;
    }
    return first + token_with(library_.token_ends(document.id, first, last - first), byte);
}

std::function<std::unique_ptr<PageReader>()> stored_pages(const QString& database, const TextOutline& outline,
                                                          const TokenBytes& bytes)
{
    return [=] { return std::make_unique<StoredPages>(database, outline, bytes); };
}

MemoryPages::MemoryPages(TextOutline outline, std::shared_ptr<const Texts> texts)
    : outline_(std::move(outline)), texts_(std::move(texts))
{
}

TextPage MemoryPages::read(uint64_t first, uint64_t count)
{
    TextPage page{.first = first, .text = {}, .ends = {}};
    each_part(outline_, first, count, [&](const TextPart& part, StreamRange range) {
        const auto text = texts_->find(part.range.first);
        if (text == texts_->end()) return append_framing(range.last - range.first, page);
        append_part(text->second, range.first - part.range.first, range.last - part.range.first, page);
    });
    return page;
}

StreamRange MemoryPages::tokens_of(const TextPart& document, ByteRange bytes)
{
    const std::vector<uint64_t>& ends = texts_->at(document.range.first).ends;
    return tokens_between(document, bytes, [&](uint64_t byte) { return token_with(ends, byte); });
}

} // namespace palimpsest::ui
