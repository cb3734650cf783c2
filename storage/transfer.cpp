#include "storage/transfer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/text/unicode/utf8.h"
#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/hash.h"
#include "storage/impossible_pins.h"
#include "storage/interrupted.h"
#include "storage/library.h"
#include "storage/note_rows.h"
#include "storage/packing.h"
#include "storage/part_file.h"
#include "storage/passage_index.h"
#include "storage/provenance.h"
#include "storage/snapshot_codec.h"
#include "storage/snapshots.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
using RowIds = std::map<int64_t, int64_t>; // row id in the source -> in the destination

// Members of a session's settings (session/session_settings.h).
constexpr const char* model_key = "model";
constexpr const char* snapshot_key = "snapshot"; // the form of states that are stored
constexpr const char* identity_key = "imported"; // of the file it comes from

void bind_column(SQLite::Statement& statement, int index, const SQLite::Column& value)
{
    if (value.isNull())
        statement.bind(index);
    else if (value.isInteger())
        statement.bind(index, value.getInt64());
    else if (value.isFloat())
        statement.bind(index, value.getDouble());
    else if (value.isText())
        statement.bind(index, value.getString());
    else
        statement.bind(index, value.getBytes() ? value.getBlob() : "", value.getBytes());
}

[[noreturn]] void refuse_damaged_rows(const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session"), what,
                Text("the database it comes from is damaged"));
}

int64_t other(const RowIds& ids, int64_t id)
{
    const auto found = ids.find(id);
    if (found == ids.end()) refuse_damaged_rows(Text("its rows name others that are not there"));
    return found->second;
}

// Copies the rows of `select`, whose first column is the row's id and whose other columns are those of `insert`.
// `renamed` maps columns that reference other rows (by index, from 1) to the ids of those rows in the destination.
struct RowCopy {
    const char* select;
    const char* insert;
    std::map<int, const RowIds*> renamed;
};

class Transfer {
public:
    enum class Kind { Export, Import };
    Transfer(Database& from, Database& to, int64_t session, Kind kind, std::stop_token stop = {})
        : from_(from), to_(to), session_(session), is_import_(kind == Kind::Import), stop_(std::move(stop))
    {
    }

    // Copies the session as `info` says, with or without its checkpoints. Returns the number of the new one.
    int64_t run(const SessionInfo& info, bool with_states)
    {
        from_.guarded([&] {
            // A deferred transaction gives one consistent view of the source while its owner goes on writing.
            const SQLite::Transaction view(from_.sql(), SQLite::TransactionBehavior::DEFERRED);
            copy_all(info, with_states);
        });
        return sessions_.at(session_);
    }

    // Removes what a run that failed has left. Blocks of others are used by their snapshots.
    void undo()
    try {
        to_.transaction([&] {
            for (const auto& [old, made] : new_documents_)
                delete_documents(to_, "id = ?1 AND complete = 0", made);
            to_.remove_unreferenced_blocks();
        });
    } catch (const Error&) {
        // Nobody sees it, and the next start removes it.
    }

private:
    void copy_all(const SessionInfo& info, bool with_states)
    {
        if (with_states) snapshots_to_copy_ = wanted_snapshots();
        if (is_import_) check_all();
        copy_documents();
        copy_blocks();
        check_stop();
        to_.transaction([&] {
            sessions_[session_] = Conversations(to_).insert(info);
            copy({.select = "SELECT id, session, parent, role, state, text, ids, hash, created_ms FROM messages "
                            "WHERE session = ? ORDER BY id",
                  .insert = "INSERT INTO messages(session, parent, role, state, text, ids, hash, created_ms) "
                            "VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}, {2, &messages_}}},
                 session_, &messages_);
            for (const auto& [old, made] : messages_) {
                copy({.select = "SELECT 0, message, at, document, first_token, end_token, held FROM read_again "
                                "WHERE message = ?",
                      .insert = "INSERT INTO read_again(message, at, document, first_token, end_token, held) "
                                "VALUES(?, ?, ?, ?, ?, ?)",
                      .renamed = {{1, &messages_}, {3, &documents_}}},
                     old, nullptr);
                copy({.select = "SELECT 0, message, data, hash FROM provenance WHERE message = ?",
                      .insert = "INSERT INTO provenance(message, data, hash) VALUES(?, ?, ?)",
                      .renamed = {{1, &messages_}}},
                     old, nullptr);
            }
            copy({.select = "SELECT 0, session, idx, tokens, document, message, ids FROM stream WHERE session = ?",
                  .insert = "INSERT INTO stream(session, idx, tokens, document, message, ids) "
                            "VALUES(?, ?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}, {4, &documents_}, {5, &messages_}}},
                 session_, nullptr);
            for (const int64_t snapshot : snapshots_to_copy_)
                copy({.select = "SELECT id, session, complete, tokens_seen, header, hash, bytes, created_ms FROM "
                                "snapshots "
                                "WHERE id = ?",
                      .insert =
                          "INSERT INTO snapshots(session, complete, tokens_seen, header, hash, bytes, created_ms) "
                          "VALUES(?, ?, ?, ?, ?, ?, ?)",
                      .renamed = {{1, &sessions_}}},
                     snapshot, &snapshots_);
            for (const auto& [old, made] : snapshots_)
                copy({.select = "SELECT 0, snapshot, idx, block FROM snapshot_blocks WHERE snapshot = ?",
                      .insert = "INSERT INTO snapshot_blocks(snapshot, idx, block) VALUES(?, ?, ?)",
                      .renamed = {{1, &snapshots_}, {3, &blocks_}}},
                     old, nullptr);
            copy({.select = "SELECT 0, session, idx, tokens_seen, raw, hash, data FROM fading WHERE session = ?",
                  .insert =
                      "INSERT INTO fading(session, idx, tokens_seen, raw, hash, data) VALUES(?, ?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}}},
                 session_, nullptr);
            copy({.select = "SELECT 0, session, first, last, since, label FROM pins WHERE session = ?",
                  .insert = "INSERT INTO pins(session, first, last, since, label) VALUES(?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}}},
                 session_, nullptr);
            copy({.select =
                      "SELECT 0, session, document, first_token, end_token, first_byte, end_byte, section, "
                      "origin, repeats, text, refused, tokens, seconds, hash FROM notes WHERE session = ? AND "
                      "document IN (SELECT document FROM stream WHERE stream.session = notes.session)",
                  .insert = "INSERT INTO notes(session, document, first_token, end_token, first_byte, end_byte, "
                            "section, origin, repeats, text, refused, tokens, seconds, hash) "
                            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}, {2, &documents_}}},
                 session_, nullptr);
            for (const auto& [old, made] : documents_) {
                auto complete = to_.statement("UPDATE documents SET complete = 1 WHERE id = ?");
                complete.bind(1, made);
                complete.exec();
            }
        });
    }

    // The first selected column is the row's id; the others are inserted.
    void copy(const RowCopy& rows, int64_t key, RowIds* ids)
    {
        from_.guarded([&] {
            auto read = from_.statement(rows.select);
            read.bind(1, key);
            while (read.executeStep())
                to_.guarded([&] { copy_row(rows, read, ids); });
        });
    }

    void copy_row(const RowCopy& rows, SQLite::Statement& read, RowIds* ids)
    {
        auto write = to_.statement(rows.insert);
        for (int i = 1; i < read.getColumnCount(); ++i) {
            const auto renamed = rows.renamed.find(i);
            if (renamed == rows.renamed.end() || read.getColumn(i).isNull())
                bind_column(write, i, read.getColumn(i));
            else
                write.bind(i, other(*renamed->second, read.getColumn(i).getInt64()));
        }
        write.exec();
        if (ids) (*ids)[read.getColumn(0).getInt64()] = to_.last_row();
    }

    // All complete checkpoints, oldest first. If nothing was said, nothing can be taken back, and the newest is
    // enough.
    std::vector<int64_t> wanted_snapshots()
    {
        auto all = rows("SELECT id FROM snapshots WHERE session = ? AND complete = 1 ORDER BY id", session_);
        const bool was_talk = !rows("SELECT id FROM messages WHERE session = ? LIMIT 1", session_).empty();
        if (!was_talk && all.size() > 1) all.erase(all.begin(), all.end() - 1);
        return all;
    }

    // Reads what comes from elsewhere as it will be read here. An export leaves out notes and sources of answers
    // that are damaged, and its names are text.
    void check_all()
    {
        refuse_impossible_rows();
        Conversations conversations(from_);
        conversations.each_fade_record_block(session_, [](const auto&) { return true; });
        for (const Message& message : conversations.messages(session_))
            if (message.damaged) refuse_damaged_rows(Text("message {0} does not match its checksum", message.id));
        for (const int64_t snapshot : snapshots_to_copy_) {
            check_stop();
            Snapshots(from_).verify(snapshot);
        }
        for (const int64_t document : documents_of_session()) {
            check_stop();
            Library(from_).verify(document);
            if (!std::ranges::all_of(structure_of(from_, document), engine::is_valid_utf8))
                refuse_damaged_rows(Text("titles in it are not text in UTF-8"));
        }
        if (const size_t damaged = count_damaged_notes(from_, session_))
            refuse_damaged_rows(Text("damaged notes: {0}", damaged));
        const uint64_t tokens = tokens_of(conversations.stream(session_));
        if (const size_t answers = Provenances(from_).count_left_out(session_, tokens))
            refuse_damaged_rows(Text("answers whose stored sources are damaged: {0}", answers));
    }

    // A section or a page may begin where the text ends.
#define PALIMPSEST_BEYOND_DOCUMENT                                                                                 \
    "(first_token < 0 OR first_token > documents.tokens OR first_byte < 0 OR first_byte > bytes)"

    // Numbers that no version of this program writes.
    void refuse_impossible_rows()
    {
        for (const char* impossible :
             {"SELECT id FROM messages WHERE session = ? AND (role NOT IN (0, 1) OR state NOT IN (0, 1, 2, 3))",
              "SELECT idx FROM stream WHERE session = ? AND tokens < 0", impossible_pins,
              "SELECT idx FROM sections JOIN documents ON id = document WHERE document IN "
              "(SELECT document FROM stream WHERE session = ?) AND " PALIMPSEST_BEYOND_DOCUMENT,
              "SELECT idx FROM pages JOIN documents ON id = document WHERE document IN "
              "(SELECT document FROM stream WHERE session = ?) AND " PALIMPSEST_BEYOND_DOCUMENT,
              "SELECT end_byte FROM notes JOIN documents ON id = document WHERE session = ? AND "
              "(end_token < first_token OR end_token > documents.tokens OR end_byte < first_byte OR "
              "end_byte > bytes OR " PALIMPSEST_BEYOND_DOCUMENT ")"})
            if (!rows(impossible, session_).empty()) refuse_damaged_rows(Text("it has numbers that cannot be"));
    }

    std::vector<int64_t> documents_of_session()
    {
        return rows("SELECT DISTINCT document FROM stream WHERE session = ? AND document NOT NULL", session_);
    }

    // Documents and blocks are large, so they are copied row by row; they stay incomplete or unreferenced until the
    // session's rows reference them.
    void copy_documents()
    {
        for (const int64_t document : documents_of_session()) {
            if (const auto same = same_document(document)) {
                documents_[document] = *same;
                continue;
            }
            if (!is_import_) check_document(document);
            to_.transaction([&] {
                copy({.select =
                          "SELECT id, title, source, tokenizer, bytes, words, tokens, invalid_sequences, "
                          "nul_characters, source_bytes, source_hash, created_ms, 0 FROM documents WHERE id = ?",
                      .insert =
                          "INSERT INTO documents(title, source, tokenizer, bytes, words, tokens, "
                          "invalid_sequences, nul_characters, source_bytes, source_hash, created_ms, complete) "
                          "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      .renamed = {}},
                     document, &documents_);
                copy({.select = "SELECT 0, document, idx, title, first_token, first_byte, level FROM sections "
                                "WHERE document = ?",
                      .insert = "INSERT INTO sections(document, idx, title, first_token, first_byte, level) "
                                "VALUES(?, ?, ?, ?, ?, ?)",
                      .renamed = {{1, &documents_}}},
                     document, nullptr);
                copy({.select = "SELECT 0, document, idx, label, first_token, first_byte FROM pages "
                                "WHERE document = ?",
                      .insert = "INSERT INTO pages(document, idx, label, first_token, first_byte) "
                                "VALUES(?, ?, ?, ?, ?)",
                      .renamed = {{1, &documents_}}},
                     document, nullptr);
                copy({.select = "SELECT 0, document, format, author, language FROM metadata WHERE document = ?",
                      .insert = "INSERT INTO metadata(document, format, author, language) VALUES(?, ?, ?, ?)",
                      .renamed = {{1, &documents_}}},
                     document, nullptr);
            });
            new_documents_[document] = other(documents_, document);
            copy_in_transactions({.select = "SELECT 0, document, kind, idx, raw, hash, data FROM document_blocks "
                                            "WHERE rowid = ?",
                                  .insert = "INSERT INTO document_blocks(document, kind, idx, raw, hash, data) "
                                            "VALUES(?, ?, ?, ?, ?, ?)",
                                  .renamed = {{1, &documents_}}},
                                 rows("SELECT rowid FROM document_blocks WHERE document = ?", document), nullptr);
            copy_embeddings(document, is_import_);
        }
    }

    // A block with a wrong checksum would be refused when it is read, and every import of the same document be
    // taken for it until then.
    void check_document(int64_t document)
    {
        from_.guarded([&] {
            auto read =
                from_.statement("SELECT raw, hash, data FROM document_blocks WHERE document = ? AND kind <> ?");
            read.bind(1, document);
            read.bind(2, static_cast<int>(DocumentBlock::ReaderNotes)); // damaged ones are not shown
            while (read.executeStep()) {
                const int64_t length = read.getColumn(0).getInt64();
                if (length < 0 || length > static_cast<int64_t>(block_bytes)) refuse_damaged_document(document);
                std::vector<std::byte> raw(static_cast<size_t>(length));
                if (!unpack(blob(read.getColumn(2)), raw) || hash64(raw) != read.getColumn(1).getInt64())
                    refuse_damaged_document(document);
            }
        });
    }

    // Passages follow from the text, and are cut again where the file may come from elsewhere: embeddings are taken
    // if they are about the same ones.
    void copy_embeddings(int64_t document, bool cuts_passages)
    {
        if (cuts_passages) {
            PassageIndex(to_).build(documents_.at(document), [&](uint64_t) { return !stop_.stop_requested(); });
            check_stop();
            const auto passages = passages_of(from_, document);
            if (passages.empty() || passages != passages_of(to_, documents_.at(document))) return;
        }
        to_.transaction([&] {
            if (!cuts_passages)
                copy({.select = "SELECT 0, document, idx, first_token, end_token, first_byte, end_byte, section "
                                "FROM passages WHERE document = ?",
                      .insert = "INSERT INTO passages(document, idx, first_token, end_token, first_byte, end_byte, "
                                "section) VALUES(?, ?, ?, ?, ?, ?, ?)",
                      .renamed = {{1, &documents_}}},
                     document, nullptr);
            if (rows("SELECT document FROM encoded_documents WHERE document = ?", document).empty())
                return; // nor has an older version the table of vectors
            copy({.select = "SELECT 0, document, encoder, passages FROM encoded_documents WHERE document = ?",
                  .insert = "INSERT INTO encoded_documents(document, encoder, passages) VALUES(?, ?, ?)",
                  .renamed = {{1, &documents_}}},
                 document, nullptr);
            copy({.select = "SELECT 0, document, idx, data FROM passage_vectors WHERE document = ?",
                  .insert = "INSERT INTO passage_vectors(document, idx, data) VALUES(?, ?, ?)",
                  .renamed = {{1, &documents_}}},
                 document, nullptr);
        });
    }

    static std::vector<std::array<uint64_t, 4>> passages_of(Database& database, int64_t document)
    {
        std::vector<std::array<uint64_t, 4>> places;
        for (const StoredPassage& passage : PassageIndex(database).all(document))
            places.push_back({passage.first_token, passage.end_token, passage.first_byte, passage.end_byte});
        return places;
    }

    // The document in the destination that has the same text and tokens by their checksums, of the same file, and
    // is shown under the same names: those in a file from elsewhere may be others.
    std::optional<int64_t> same_document(int64_t document)
    {
        const auto content = contents_of(from_, document);
        const auto structure = structure_of(from_, document);
        return from_.guarded([&]() -> std::optional<int64_t> {
            auto read = from_.statement("SELECT tokenizer, bytes, tokens, source_hash FROM documents WHERE id = ?");
            read.bind(1, document);
            if (!read.executeStep()) return std::nullopt;
            auto find =
                to_.statement("SELECT id FROM documents WHERE complete = 1 AND tokenizer = ? AND bytes = ? AND "
                              "tokens = ? AND source_hash = ? ORDER BY id");
            for (int i = 0; i < 4; ++i)
                bind_column(find, i + 1, read.getColumn(i));
            while (find.executeStep())
                if (const int64_t id = find.getColumn(0).getInt64();
                    contents_of(to_, id) == content && structure_of(to_, id) == structure)
                    return id;
            return std::nullopt;
        });
    }

    // Title, headings, page labels and what is known of author and language.
    static std::vector<std::string> structure_of(Database& database, int64_t document)
    {
        std::vector<std::string> all;
        for (const char* select : {"SELECT title FROM documents WHERE id = ?",
                                   "SELECT title, first_token, level FROM sections WHERE document = ? ORDER BY idx",
                                   "SELECT label, first_token FROM pages WHERE document = ? ORDER BY idx",
                                   "SELECT format, author, language FROM metadata WHERE document = ?"})
            database.guarded([&] {
                auto query = database.statement(select);
                query.bind(1, document);
                while (query.executeStep())
                    for (int i = 0; i < query.getColumnCount(); ++i)
                        all.push_back(query.getColumn(i).getString());
            });
        return all;
    }

    // Kind, index and checksum of every block, in order. Earlier versions stored no notes of the reader.
    static std::vector<std::array<int64_t, 3>> contents_of(Database& database, int64_t document)
    {
        return database.guarded([&] {
            std::vector<std::array<int64_t, 3>> all;
            auto query = database.statement(
                "SELECT kind, idx, hash FROM document_blocks WHERE document = ? AND kind <> ? ORDER BY kind, idx");
            query.bind(1, document);
            query.bind(2, static_cast<int>(DocumentBlock::ReaderNotes));
            while (query.executeStep())
                all.push_back(
                    {query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
            return all;
        });
    }

    void copy_blocks()
    {
        std::set<int64_t> named;
        for (const int64_t snapshot : snapshots_to_copy_)
            std::ranges::copy(rows("SELECT block FROM snapshot_blocks WHERE snapshot = ?", snapshot),
                              std::inserter(named, named.end()));
        std::vector<int64_t> missing;
        for (const int64_t block : named) {
            const auto there = same_block(block);
            there ? blocks_[block] = *there : (missing.push_back(block), 0);
        }
        for (const int64_t block : missing) {
            check_stop();
            check_block(block);
        }
        copy_in_transactions({.select = "SELECT id, hash, raw, seal, data FROM blocks WHERE id = ?",
                              .insert = "INSERT INTO blocks(hash, raw, seal, data) VALUES(?, ?, ?, ?)",
                              .renamed = {}},
                             missing, &blocks_);
    }

    // Blocks are shared by hash: a block with a wrong hash would damage the snapshots of other sessions.
    void check_block(int64_t block)
    {
        from_.guarded([&] {
            auto read = from_.statement("SELECT hash, raw, data FROM blocks WHERE id = ?");
            read.bind(1, block);
            const auto length = read.executeStep() ? read.getColumn(1).getInt64() : -1;
            if (length < 1 || length > static_cast<int64_t>(block_bytes)) refuse_block();
            std::vector<std::byte> raw(static_cast<size_t>(length));
            const Hash128 named = unpack(blob(read.getColumn(2)), raw) ? hash128(raw) : Hash128{};
            const auto name = blob(read.getColumn(0));
            if (!std::equal(name.begin(), name.end(), named.begin(), named.end())) refuse_block();
        });
    }

    [[noreturn]] static void refuse_block()
    {
        throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("session"),
                    Text("a block of its saved state is damaged"),
                    Text("strip the session where it comes from, and export it again: its text is enough"));
    }

    std::optional<int64_t> same_block(int64_t block)
    {
        return from_.guarded([&]() -> std::optional<int64_t> {
            auto read = from_.statement("SELECT hash FROM blocks WHERE id = ?");
            read.bind(1, block);
            if (!read.executeStep()) return std::nullopt;
            return to_.guarded([&] {
                auto find = to_.statement("SELECT id FROM blocks WHERE hash = ?");
                bind_column(find, 1, read.getColumn(0));
                return find.executeStep() ? std::optional(find.getColumn(0).getInt64()) : std::nullopt;
            });
        });
    }

    std::vector<int64_t> rows(const char* select, int64_t key)
    {
        return from_.guarded([&] {
            std::vector<int64_t> all;
            auto query = from_.statement(select);
            query.bind(1, key);
            while (query.executeStep())
                all.push_back(query.getColumn(0).getInt64());
            return all;
        });
    }

    void copy_in_transactions(const RowCopy& copied, const std::vector<int64_t>& keys, RowIds* ids)
    {
        constexpr size_t rows_at_once = 16;
        for (size_t at = 0; at < keys.size(); at += rows_at_once) {
            check_stop();
            to_.transaction([&] {
                for (size_t i = at; i < std::min(keys.size(), at + rows_at_once); ++i)
                    copy(copied, keys[i], ids);
            });
        }
    }

    void check_stop() const
    {
        if (stop_.stop_requested()) throw Interrupted{Text("stopped; nothing was imported")};
    }

    Database& from_;
    Database& to_;
    int64_t session_;
    bool is_import_;
    std::stop_token stop_;
    RowIds sessions_, documents_, new_documents_, messages_, snapshots_, blocks_;
    std::vector<int64_t> snapshots_to_copy_;
};

// The settings of a session with another place of its model; those that cannot be read stay as they are.
// `identity`: of the file it comes from.
std::string with_model(const std::string& options, const fs::path& model, const std::string& identity)
{
    auto all = nlohmann::ordered_json::parse(options, nullptr, false);
    if (!all.is_object() && identity.empty()) return options;
    if (!all.is_object()) all = {{model_key, nullptr}}; // cannot be read, either
    if (all.contains(model_key) && all[model_key].is_string()) all[model_key] = model.string();
    all.erase(identity_key);
    if (!identity.empty()) all[identity_key] = identity;
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// The settings of a session whose states are stored in this form from now on: one that goes on from a rounded state
// never has an exact one.
std::string with_form(const std::string& options, SnapshotForm form)
{
    auto all = nlohmann::ordered_json::parse(options, nullptr, false);
    if (!all.is_object()) return options;
    all[snapshot_key] = std::string(name_of(form));
    return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string text_setting(const std::string& options, const char* key)
{
    const auto all = nlohmann::ordered_json::parse(options, nullptr, false);
    const bool is_there = all.is_object() && all.contains(key) && all[key].is_string();
    return is_there ? all[key].get<std::string>() : std::string();
}

std::string file_name(const std::string& path)
{
    return fs::path(path).filename().string();
}

SessionInfo session_of(Database& database, int64_t session)
{
    for (SessionInfo& info : Conversations(database).list())
        if (info.id == session) return std::move(info);
    throw Error(ErrorKind::NotFound, ErrorCode::SessionNotFound, Text("session"), Text("it is not there any more"),
                Text(Step::ListSessions));
}

std::string as_utf8(const std::string& text)
{
    std::string valid;
    engine::Utf8Decoder decoder;
    const auto append = [&](char32_t code, size_t, bool) { engine::append_utf8(code, valid); };
    for (const char byte : text)
        decoder.push(static_cast<unsigned char>(byte), append);
    decoder.finish(append);
    return valid;
}

// Folders of sources are private and mean nothing on another machine.
void remove_folders(Database& database)
{
    database.transaction([&] {
        auto query = database.statement("SELECT id, source FROM documents");
        while (query.executeStep()) {
            auto change = database.statement("UPDATE documents SET source = ? WHERE id = ?");
            change.bind(1, file_name(query.getColumn(1).getString()));
            change.bind(2, query.getColumn(0).getInt64());
            change.exec();
        }
    });
}

// A column of names, which an import refuses if they are not UTF-8.
struct NameColumn {
    const char* select; // rows with their names
    const char* change;
};
constexpr NameColumn name_columns[] = {
    {"SELECT rowid, name FROM sessions", "UPDATE sessions SET name = ? WHERE rowid = ?"},
    {"SELECT rowid, model_name FROM sessions", "UPDATE sessions SET model_name = ? WHERE rowid = ?"},
    {"SELECT rowid, title FROM documents", "UPDATE documents SET title = ? WHERE rowid = ?"},
    {"SELECT rowid, source FROM documents", "UPDATE documents SET source = ? WHERE rowid = ?"},
    {"SELECT rowid, title FROM sections", "UPDATE sections SET title = ? WHERE rowid = ?"},
    {"SELECT rowid, label FROM pages", "UPDATE pages SET label = ? WHERE rowid = ?"},
    {"SELECT rowid, format FROM metadata", "UPDATE metadata SET format = ? WHERE rowid = ?"},
    {"SELECT rowid, author FROM metadata", "UPDATE metadata SET author = ? WHERE rowid = ?"},
    {"SELECT rowid, language FROM metadata", "UPDATE metadata SET language = ? WHERE rowid = ?"},
};

// Replaces what is not UTF-8. Returns the number of names that were changed.
size_t mend_names(Database& database)
{
    size_t mended = 0;
    database.transaction([&] {
        for (const NameColumn& names : name_columns) {
            auto query = database.statement(names.select);
            while (query.executeStep()) {
                const std::string name = query.getColumn(1).getString();
                if (engine::is_valid_utf8(name)) continue;
                auto change = database.statement(names.change);
                change.bind(1, as_utf8(name));
                change.bind(2, query.getColumn(0).getInt64());
                change.exec();
                ++mended;
            }
        }
    });
    return mended;
}

// Notes can be written again, and an answer is whole without its sources.
ExportLosses leave_out_damaged(Database& database, int64_t session)
{
    const uint64_t tokens = tokens_of(Conversations(database).stream(session));
    const auto messages = Conversations(database).messages(session);
    return {.messages = static_cast<size_t>(std::ranges::count_if(messages, &Message::damaged)),
            .notes = remove_damaged_notes(database, session),
            .sources = Provenances(database).remove_left_out(session, tokens),
            .names = mend_names(database)};
}

WrittenExport write_export(Database& database, const SessionInfo& session, const fs::path& file,
                           const std::optional<ExportedState>& state)
{
    Database to(file, Database::Access::Write);
    SessionInfo exported = session;
    exported.options = with_model(session.options, file_name(text_setting(session.options, model_key)), "");
    if (state) exported.options = with_form(exported.options, state->form);
    const int64_t made = Transfer(database, to, session.id, Transfer::Kind::Export).run(exported, !state);
    if (state) Snapshots(to).save(made, state->state, {}, state->form);
    remove_folders(to);
    WrittenExport written{.holds = {}, .losses = leave_out_damaged(to, made)};
    to.guarded([&] { to.sql().exec("PRAGMA journal_mode = DELETE"); }); // one file, readable anywhere
    written.holds = ExportContents::of(to, session_of(to, made));
    return written;
}

} // namespace

void require_absent(const fs::path& file)
{
    remove_left_parts(file);
    std::error_code unknown;
    if (fs::exists(file, unknown))
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file.string()),
                    Text("it is there already"), Text("give a new file's name"));
}

std::vector<Text> ExportLosses::sentences() const
{
    std::vector<Text> all;
    if (messages > 0)
        all.emplace_back("damaged messages in the file, which can be shown, but not imported: {0}", messages);
    if (notes > 0) all.emplace_back("damaged notes that were left out of the file: {0}", notes);
    if (sources > 0) all.emplace_back("answers whose damaged sources were left out of the file: {0}", sources);
    if (names > 0)
        all.emplace_back("titles and names in which characters that are not UTF-8 were replaced in the file: {0}",
                         names);
    return all;
}

WrittenExport export_session(Database& database, int64_t session, const fs::path& file,
                             const std::optional<ExportedState>& state)
{
    require_absent(file);
    const SessionInfo info = session_of(database, session);
    const PartFile part(file);
    WrittenExport written;
    try {
        written = write_export(database, info, part.database(), state);
    } catch (const Error& error) {
        throw with_file_name(error, part.database(), file);
    }
    if (part.finish(part.database()))
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file.string()),
                    Text("it cannot be written"), Text("check the folder and its permissions"));
    std::error_code unknown;
    written.holds.bytes = fs::file_size(file, unknown);
    return written;
}

std::string import_session(Database& database, ExportFile& file, const ImportedAs& as)
{
    SessionInfo session = file.session();
    if (!as.name.empty()) session.name = as.name;
    session.options =
        with_model(session.options,
                   as.model.empty() ? file_name(text_setting(session.options, model_key)) : as.model, as.identity);
    Conversations(database).check_name(session.name);
    Transfer transfer(file.database(), database, session.id, Transfer::Kind::Import, file.stop());
    try {
        ExportFile::guarded([&] { transfer.run(session, true); });
    } catch (...) {
        transfer.undo();
        throw;
    }
    return session.name;
}

std::string import_session(Database& database, const fs::path& file, const std::string& name,
                           const std::stop_token& stop)
{
    ExportFile from(file, stop);
    return import_session(database, from, {.name = name, .model = {}, .identity = {}});
}

std::optional<SessionInfo> imported_session(Database& database, const std::string& identity,
                                            const std::string& name)
{
    std::optional<SessionInfo> best;
    bool best_has_cache = false;
    for (SessionInfo& info : Conversations(database).list()) {
        if (text_setting(info.options, identity_key) != identity || (!name.empty() && info.name != name)) continue;
        const bool has_cache = !Snapshots(database).of(info.id).empty();
        const bool is_better =
            !best || has_cache > best_has_cache || (has_cache == best_has_cache && info.id < best->id);
        if (!is_better) continue;
        best = std::move(info);
        best_has_cache = has_cache;
    }
    return best;
}

} // namespace palimpsest::storage
