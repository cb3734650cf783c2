#include "storage/library.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/erasure.h"
#include "storage/hash.h"
#include "storage/packing.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t max_block_bytes = 1 << 20;

DocumentInfo document_info(SQLite::Statement& row)
{
    const auto number = [&](int column) { return static_cast<uint64_t>(row.getColumn(column).getInt64()); };
    return {.id = row.getColumn(0).getInt64(),
            .title = row.getColumn(1).getString(),
            .source = row.getColumn(2).getString(),
            .tokenizer = row.getColumn(3).getString(),
            .bytes = number(4),
            .words = number(5),
            .tokens = number(6),
            .invalid_sequences = number(7),
            .nul_characters = number(8),
            .source_bytes = row.getColumn(9).getInt64(),
            .source_hash = row.getColumn(10).getInt64(),
            .created_ms = row.getColumn(11).getInt64(),
            .format = row.getColumn(12).getString(),
            .author = row.getColumn(13).getString(),
            .language = row.getColumn(14).getString(),
            .kept_ms = row.getColumn(15).getInt64()};
}

#define PALIMPSEST_SELECT_DOCUMENTS                                                                                \
    "SELECT id, title, source, tokenizer, bytes, words, tokens, invalid_sequences, nul_characters, source_bytes, " \
    "source_hash, created_ms, coalesce(format, ''), coalesce(author, ''), coalesce(language, ''), "                \
    "coalesce(added_ms, 0) FROM documents LEFT JOIN metadata ON metadata.document = documents.id "                 \
    "LEFT JOIN library ON library.document = documents.id WHERE complete = 1 "

} // namespace

const char* const is_unused_document = "id NOT IN (SELECT document FROM stream WHERE document IS NOT NULL) "
                                       "AND id NOT IN (SELECT document FROM library)";

void delete_documents(Database& database, const std::string& condition, int64_t parameter)
{
    const auto run = [&](const std::string& sql) {
        auto statement = database.statement(sql.c_str());
        if (sql.find("?1") != std::string::npos) statement.bind(1, parameter);
        return statement.exec();
    };
    try {
        const int removed =
            run("DELETE FROM passage_texts WHERE rowid IN (SELECT id FROM passages WHERE document IN "
                "(SELECT id FROM documents WHERE " +
                condition + "))");
        // Until it is merged, the index keeps the words of rows that were deleted.
        if (removed > 0) run("INSERT INTO passage_texts(passage_texts) VALUES('optimize')");
    } catch (const SQLite::Exception& failure) {
        if ((failure.getErrorCode() & 0xFF) != SQLITE_CORRUPT) throw;
        discard_passages(database.sql()); // so that a damaged index keeps nobody from deleting
    }
    run("DELETE FROM documents WHERE " + condition);
}

void refuse_damaged_document(int64_t document)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument, Text("document {0}", document),
                Text("what is stored of it is damaged"), Text("import it again"));
}

DocumentInfo Library::get(int64_t document)
{
    return db_.guarded([&] {
        auto query = db_.statement(PALIMPSEST_SELECT_DOCUMENTS "AND id = ?");
        query.bind(1, document);
        if (!query.executeStep())
            throw Error(ErrorKind::NotFound, ErrorCode::DocumentNotFound, Text("document {0}", document),
                        Text("it is not there"), Text(Step::ListDocuments));
        return document_info(query);
    });
}

std::vector<DocumentInfo> Library::list()
{
    return db_.guarded([&] {
        std::vector<DocumentInfo> all;
        auto query = db_.statement(PALIMPSEST_SELECT_DOCUMENTS "ORDER BY id");
        while (query.executeStep())
            all.push_back(document_info(query));
        return all;
    });
}

void Library::remove(int64_t document)
{
    db_.transaction([&] { delete_documents(db_, "id = ?1", document); });
}

void Library::sweep()
{
    db_.transaction([&] { delete_documents(db_, std::string("complete = 0 OR ") + is_unused_document); });
}

void Library::keep(int64_t document)
{
    get(document);
    db_.transaction([&] {
        auto insert = db_.statement("INSERT OR IGNORE INTO library(document, added_ms) VALUES(?, ?)");
        insert.bind(1, document);
        insert.bind(2, now_ms());
        insert.exec();
    });
}

std::optional<Error> Library::stop_keeping(std::span<const int64_t> documents)
{
    const std::string unused = std::string("complete = 1 AND ") + is_unused_document;
    bool has_unused = false;
    db_.transaction([&] {
        for (const int64_t document : documents) {
            auto remove = db_.statement("DELETE FROM library WHERE document = ?");
            remove.bind(1, document);
            remove.exec();
        }
        has_unused =
            db_.sql().execAndGet("SELECT EXISTS(SELECT 1 FROM documents WHERE " + unused + ")").getInt() != 0;
        if (has_unused) mark_erasure(db_); // the next owner would delete them, but not for good
    });
    if (!has_unused) return std::nullopt;
    return erase(db_, [&] { delete_documents(db_, unused); });
}

std::vector<std::string> Library::sessions_of(int64_t document)
{
    return texts(
        "SELECT name FROM sessions WHERE id IN (SELECT session FROM stream WHERE document = ?) ORDER BY name",
        document);
}

std::map<int64_t, std::vector<std::string>> Library::sessions_of_all()
{
    return db_.guarded([&] {
        std::map<int64_t, std::vector<std::string>> all;
        auto query =
            db_.statement("SELECT DISTINCT document, name FROM stream JOIN sessions ON sessions.id = session "
                          "WHERE document NOT NULL ORDER BY document, name");
        while (query.executeStep())
            all[query.getColumn(0).getInt64()].push_back(query.getColumn(1).getString());
        return all;
    });
}

void Library::set_making(int64_t document, const Making& making)
{
    db_.transaction([&] {
        auto insert =
            db_.statement("INSERT OR REPLACE INTO made_here(document, first_text, parser) VALUES(?, ?, ?)");
        insert.bind(1, document);
        insert.bind(2, making.first_text ? 1 : 0);
        insert.bind(3, making.parser);
        insert.exec();
    });
}

std::optional<Library::Making> Library::making(int64_t document)
{
    return db_.guarded([&]() -> std::optional<Making> {
        auto query = db_.statement("SELECT first_text, parser FROM made_here WHERE document = ?");
        query.bind(1, document);
        if (!query.executeStep()) return std::nullopt;
        return Making{.first_text = query.getColumn(0).getInt() != 0, .parser = query.getColumn(1).getInt64()};
    });
}

std::vector<DocumentInfo> Library::made_so(const std::string& tokenizer, int64_t source_bytes, const Making& making)
{
    return db_.guarded([&] {
        std::vector<DocumentInfo> all;
        auto query =
            db_.statement(PALIMPSEST_SELECT_DOCUMENTS
                          "AND source_bytes = ? AND tokenizer = ? AND id IN (SELECT document FROM made_here "
                          "WHERE first_text = ? AND parser = ?) ORDER BY id");
        query.bind(1, source_bytes);
        query.bind(2, tokenizer);
        query.bind(3, making.first_text ? 1 : 0);
        query.bind(4, making.parser);
        while (query.executeStep())
            all.push_back(document_info(query));
        return all;
    });
}

void Library::add_source(int64_t document, const std::string& source)
{
    db_.transaction([&] {
        auto insert = db_.statement("INSERT OR IGNORE INTO further_sources(document, source) SELECT id, ?1 FROM "
                                    "documents WHERE id = ?2 AND source <> ?1");
        insert.bind(1, source);
        insert.bind(2, document);
        insert.exec();
    });
}

std::vector<std::string> Library::sources(int64_t document)
{
    return texts("SELECT source FROM (SELECT source, 0 AS place FROM documents WHERE id = ?1 UNION ALL "
                 "SELECT source, 1 FROM further_sources WHERE document = ?1) ORDER BY place, source",
                 document);
}

// The column of a query with one parameter.
std::vector<std::string> Library::texts(const char* sql, int64_t document)
{
    return db_.guarded([&] {
        std::vector<std::string> all;
        auto query = db_.statement(sql);
        query.bind(1, document);
        while (query.executeStep())
            all.push_back(query.getColumn(0).getString());
        return all;
    });
}

std::optional<std::vector<std::byte>> Library::block(int64_t document, DocumentBlock kind, int64_t index)
{
    auto query =
        db_.statement("SELECT raw, hash, data FROM document_blocks WHERE document = ? AND kind = ? AND idx = ?");
    query.bind(1, document);
    query.bind(2, static_cast<int>(kind));
    query.bind(3, index);
    if (!query.executeStep()) return std::nullopt;
    const int64_t bytes = query.getColumn(0).getInt64();
    if (bytes < 0 || bytes > max_block_bytes) refuse_damaged_document(document);
    std::vector<std::byte> raw(static_cast<size_t>(bytes));
    const auto stored = blob(query.getColumn(2));
    if (!unpack(stored, raw) || hash64(raw) != query.getColumn(1).getInt64()) refuse_damaged_document(document);
    return raw;
}

std::vector<engine::TokenId> Library::ids(int64_t document, uint64_t first, uint64_t count)
{
    return db_.guarded([&] {
        std::vector<engine::TokenId> out;
        while (out.size() < count) {
            const uint64_t at = first + out.size(), within = at % tokens_per_block;
            const auto raw = block(document, DocumentBlock::TokenIds, static_cast<int64_t>(at / tokens_per_block));
            const uint64_t there = raw ? raw->size() / sizeof(uint32_t) : 0;
            if (there <= within) break;
            const uint64_t part = std::min(count - out.size(), there - within);
            const size_t old = out.size();
            out.resize(old + part);
            std::memcpy(out.data() + old, raw->data() + within * sizeof(uint32_t), part * sizeof(uint32_t));
        }
        return out;
    });
}

std::vector<uint64_t> Library::lengths(int64_t document, int64_t index)
{
    const auto raw = block(document, DocumentBlock::Lengths, index);
    std::vector<uint64_t> all;
    uint64_t length = 0;
    int shift = 0;
    for (size_t i = 0; raw && i < raw->size(); ++i) {
        const auto byte = static_cast<uint64_t>((*raw)[i]);
        if (shift >= 64) refuse_damaged_document(document);
        length |= (byte & 0x7F) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        all.push_back(length);
        length = 0;
        shift = 0;
    }
    if (shift != 0) refuse_damaged_document(document);
    return all;
}

uint64_t Library::start_of_block(int64_t document, int64_t index)
{
    if (const auto raw = block(document, DocumentBlock::Starts, index)) {
        uint64_t start = 0;
        if (raw->size() != sizeof start) refuse_damaged_document(document);
        std::memcpy(&start, raw->data(), sizeof start);
        return start;
    }
    uint64_t start = 0;
    for (int64_t before = 0; before < index; ++before)
        for (const uint64_t length : lengths(document, before))
            start += length;
    return start;
}

std::vector<uint64_t> Library::token_ends(int64_t document, uint64_t first, uint64_t count)
{
    return db_.guarded([&] {
        std::vector<uint64_t> ends;
        while (ends.size() < count) {
            const uint64_t at = first + ends.size(), within = at % tokens_per_block;
            const auto index = static_cast<int64_t>(at / tokens_per_block);
            const auto there = lengths(document, index);
            if (there.size() <= within) break;
            uint64_t end = start_of_block(document, index);
            for (uint64_t i = 0; i < there.size() && ends.size() < count; ++i) {
                end += there[i];
                if (i >= within) ends.push_back(end);
            }
        }
        return ends;
    });
}

std::string Library::text_block(int64_t document, int64_t index)
{
    return db_.guarded([&] {
        const auto raw = block(document, DocumentBlock::CleanText, index);
        return raw ? std::string(reinterpret_cast<const char*>(raw->data()), raw->size()) : std::string();
    });
}

std::string Library::text(int64_t document, uint64_t first, uint64_t end)
{
    std::string out;
    while (first + out.size() < end) {
        const uint64_t at = first + out.size();
        const std::string block = text_block(document, static_cast<int64_t>(at / text_block_bytes));
        const uint64_t within = at % text_block_bytes;
        if (block.size() <= within) break;
        out += block.substr(within, end - at);
    }
    return out;
}

std::vector<Section> Library::sections(int64_t document)
{
    return db_.guarded([&] {
        std::vector<Section> all;
        auto query = db_.statement(
            "SELECT title, first_token, first_byte, level FROM sections WHERE document = ? ORDER BY idx");
        query.bind(1, document);
        while (query.executeStep())
            all.push_back({.title = query.getColumn(0).getString(),
                           .first_token = static_cast<uint64_t>(query.getColumn(1).getInt64()),
                           .first_byte = static_cast<uint64_t>(query.getColumn(2).getInt64()),
                           .level = query.getColumn(3).getInt()});
        return all;
    });
}

std::vector<Page> Library::pages(int64_t document)
{
    return db_.guarded([&] {
        std::vector<Page> all;
        auto query =
            db_.statement("SELECT label, first_token, first_byte FROM pages WHERE document = ? ORDER BY idx");
        query.bind(1, document);
        while (query.executeStep())
            all.push_back({.label = query.getColumn(0).getString(),
                           .first_token = static_cast<uint64_t>(query.getColumn(1).getInt64()),
                           .first_byte = static_cast<uint64_t>(query.getColumn(2).getInt64())});
        return all;
    });
}

std::vector<std::string> Library::pages_without_text(int64_t document)
{
    return texts(
        "SELECT label FROM (SELECT idx, label, first_byte, lead(first_byte, 1, (SELECT bytes FROM documents "
        "WHERE id = ?1)) OVER (ORDER BY idx) AS next FROM pages WHERE document = ?1) "
        "WHERE first_byte >= next ORDER BY idx",
        document);
}

std::string Library::reader_notes(int64_t document)
try {
    const auto raw = db_.guarded([&] { return block(document, DocumentBlock::ReaderNotes, 0); });
    return raw ? std::string(reinterpret_cast<const char*>(raw->data()), raw->size()) : std::string();
} catch (const Error& error) {
    if (error.code() != ErrorCode::DamagedDocument) throw;
    return {};
}

uint64_t Library::verify(int64_t document)
{
    const DocumentInfo info = get(document);
    uint64_t bytes = 0, tokens = 0;
    for (int64_t i = 0;; ++i) {
        const std::string block = text_block(document, i);
        if (block.empty()) break;
        bytes += block.size();
    }
    while (tokens < info.tokens) {
        const auto part = ids(document, tokens, tokens_per_block);
        if (part.empty()) break;
        tokens += part.size();
    }
    if (bytes != info.bytes || tokens != info.tokens) refuse_damaged_document(document);
    return tokens;
}

} // namespace palimpsest::storage
