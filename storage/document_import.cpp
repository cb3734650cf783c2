#include "storage/document_import.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/hash.h"
#include "storage/packing.h"
#include "storage/passage_index.h"

namespace palimpsest::storage {

Import::Import(Database& database, const std::string& title, const std::string& source,
               const std::string& tokenizer)
    : db_(database)
{
    db_.transaction([&] {
        auto insert = db_.statement("INSERT INTO documents(title, source, tokenizer, bytes, words, tokens, "
                                    "invalid_sequences, nul_characters, created_ms, complete) "
                                    "VALUES(?, ?, ?, 0, 0, 0, 0, 0, ?, 0)");
        insert.bind(1, title);
        insert.bind(2, source);
        insert.bind(3, tokenizer);
        insert.bind(4, now_ms());
        insert.exec();
        id_ = db_.last_row();
    });
}

Import::~Import()
{
    if (finished_) return;
    try {
        Library(db_).remove(id_);
    } catch (const Error&) {
        // The document stays incomplete: readers do not see it, and the next start removes it.
    }
}

void Import::add_text(std::string_view clean)
{
    text_ += clean;
    while (text_.size() >= text_block_bytes)
        put_text();
}

void Import::put_text()
{
    const size_t count = std::min<size_t>(text_.size(), text_block_bytes);
    put(DocumentBlock::CleanText, text_blocks_++, std::as_bytes(std::span(text_).first(count)));
    text_.erase(0, count);
    bytes_ += count;
}

void Import::add_tokens(std::span<const engine::EncodedToken> tokens)
{
    for (const engine::EncodedToken& token : tokens) {
        ids_.push_back(static_cast<uint32_t>(token.id));
        uint64_t length = token.end - last_end_;
        for (; length >= 0x80; length >>= 7)
            lengths_.push_back(static_cast<std::byte>(length | 0x80));
        lengths_.push_back(static_cast<std::byte>(length));
        last_end_ = token.end;
        if (ids_.size() == tokens_per_block) put_tokens();
    }
}

void Import::put_tokens()
{
    put(DocumentBlock::TokenIds, token_blocks_, std::as_bytes(std::span(ids_)));
    put(DocumentBlock::Lengths, token_blocks_, lengths_);
    put(DocumentBlock::Starts, token_blocks_++, std::as_bytes(std::span(&block_start_, 1)));
    block_start_ = last_end_;
    tokens_ += ids_.size();
    ids_.clear();
    lengths_.clear();
}

void Import::put(DocumentBlock kind, int64_t index, std::span<const std::byte> raw)
{
    const auto stored = pack(raw);
    db_.transaction([&] {
        auto insert = db_.statement("INSERT INTO document_blocks(document, kind, idx, raw, hash, data) "
                                    "VALUES(?, ?, ?, ?, ?, ?)");
        insert.bind(1, id_);
        insert.bind(2, static_cast<int>(kind));
        insert.bind(3, index);
        insert.bind(4, static_cast<int64_t>(raw.size()));
        insert.bind(5, hash64(raw));
        insert.bindNoCopy(6, stored.data(), static_cast<int>(stored.size()));
        insert.exec();
        put_structure();
    });
    db_.count_written(stored.size());
}

void Import::add_section(const Section& section)
{
    sections_.push_back(section);
}

void Import::add_page(const Page& page)
{
    pages_.push_back(page);
}

void Import::put_structure()
{
    for (const Section& section : sections_) {
        auto insert = db_.statement(
            "INSERT INTO sections(document, idx, title, first_token, first_byte, level) VALUES(?, ?, ?, ?, ?, ?)");
        insert.bind(1, id_);
        insert.bind(2, sections_stored_++);
        insert.bind(3, section.title);
        insert.bind(4, static_cast<int64_t>(section.first_token));
        insert.bind(5, static_cast<int64_t>(section.first_byte));
        insert.bind(6, section.level);
        insert.exec();
    }
    sections_.clear();
    for (const Page& page : pages_) {
        auto insert =
            db_.statement("INSERT INTO pages(document, idx, label, first_token, first_byte) VALUES(?, ?, ?, ?, ?)");
        insert.bind(1, id_);
        insert.bind(2, pages_stored_++);
        insert.bind(3, page.label);
        insert.bind(4, static_cast<int64_t>(page.first_token));
        insert.bind(5, static_cast<int64_t>(page.first_byte));
        insert.exec();
    }
    pages_.clear();
}

void Import::put_metadata(const DocumentInfo& info)
{
    if (info.format.empty() && info.author.empty() && info.language.empty()) return;
    auto insert = db_.statement("INSERT INTO metadata(document, format, author, language) VALUES(?, ?, ?, ?)");
    insert.bind(1, id_);
    insert.bind(2, info.format);
    insert.bind(3, info.author);
    insert.bind(4, info.language);
    insert.exec();
}

std::optional<int64_t> Import::finish(const DocumentInfo& info, const std::function<bool()>& go_on)
{
    if (!text_.empty()) put_text();
    if (!ids_.empty()) put_tokens();
    if (!reader_notes_.empty()) put(DocumentBlock::ReaderNotes, 0, std::as_bytes(std::span(reader_notes_)));
    db_.transaction([&] { put_structure(); });
    if (!PassageIndex(db_).build(id_, [&](uint64_t) { return !go_on || go_on(); })) return std::nullopt;
    db_.transaction([&] {
        auto update = db_.statement(
            "UPDATE documents SET bytes = ?, words = ?, tokens = ?, invalid_sequences = ?, "
            "nul_characters = ?, source_bytes = ?, source_hash = ?, title = coalesce(nullif(?, ''), title), "
            "complete = 1 WHERE id = ?");
        update.bind(1, static_cast<int64_t>(bytes_));
        update.bind(2, static_cast<int64_t>(info.words));
        update.bind(3, static_cast<int64_t>(tokens_));
        update.bind(4, static_cast<int64_t>(info.invalid_sequences));
        update.bind(5, static_cast<int64_t>(info.nul_characters));
        update.bind(6, info.source_bytes);
        update.bind(7, info.source_hash);
        update.bind(8, info.title);
        update.bind(9, id_);
        update.exec();
        put_metadata(info);
    });
    finished_ = true;
    return id_;
}

} // namespace palimpsest::storage
