#include "storage/transfer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <unistd.h>
#include <vector>

#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/conversations.h"
#include "storage/hash.h"
#include "storage/packing.h"
#include "storage/schema.h"
#include "storage/snapshot_codec.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;
using RowIds = std::map<int64_t, int64_t>; // row id in the source -> in the destination

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

int64_t other(const RowIds& ids, int64_t id)
{
    const auto found = ids.find(id);
    if (found != ids.end()) return found->second;
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session"),
                Text("its rows name others that are not there"), Text("the database it comes from is damaged"));
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
    Transfer(Database& from, Database& to, int64_t session) : from_(from), to_(to), session_(session) {}

    void run(const std::string& name)
    {
        from_.guarded([&] {
            // A deferred transaction gives one consistent view of the source while its owner goes on writing.
            const SQLite::Transaction view(from_.sql(), SQLite::TransactionBehavior::DEFERRED);
            copy_all(name);
        });
    }

private:
    void copy_all(const std::string& name)
    {
        copy_documents();
        copy_blocks();
        to_.transaction([&] {
            copy_session(name);
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
            copy({.select =
                      "SELECT id, session, complete, tokens_seen, header, hash, bytes, created_ms FROM snapshots "
                      "WHERE session = ? AND complete = 1 ORDER BY id",
                  .insert =
                      "INSERT INTO snapshots(session, complete, tokens_seen, header, hash, bytes, created_ms) "
                      "VALUES(?, ?, ?, ?, ?, ?, ?)",
                  .renamed = {{1, &sessions_}}},
                 session_, &snapshots_);
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

    void copy_session(const std::string& name)
    {
        const SessionInfo info = from_.guarded([&] {
            auto read = from_.statement("SELECT name, model, model_name, options FROM sessions WHERE id = ?");
            read.bind(1, session_);
            read.executeStep();
            return SessionInfo{.id = 0,
                               .name = name.empty() ? read.getColumn(0).getString() : name,
                               .model = read.getColumn(1).getString(),
                               .model_name = read.getColumn(2).getString(),
                               .options = read.getColumn(3).getString()};
        });
        sessions_[session_] = Conversations(to_).insert(info);
    }

    // Documents and blocks are large, so they are copied row by row; they stay incomplete or unreferenced until the
    // session's rows reference them.
    void copy_documents()
    {
        std::vector<int64_t> documents;
        from_.guarded([&] {
            auto query =
                from_.statement("SELECT DISTINCT document FROM stream WHERE session = ? AND document NOT NULL");
            query.bind(1, session_);
            while (query.executeStep())
                documents.push_back(query.getColumn(0).getInt64());
        });
        for (const int64_t document : documents) {
            if (const auto same = same_document(document)) {
                documents_[document] = *same;
                continue;
            }
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
            copy_in_transactions({.select = "SELECT 0, document, kind, idx, raw, hash, data FROM document_blocks "
                                            "WHERE rowid = ?",
                                  .insert = "INSERT INTO document_blocks(document, kind, idx, raw, hash, data) "
                                            "VALUES(?, ?, ?, ?, ?, ?)",
                                  .renamed = {{1, &documents_}}},
                                 rows("SELECT rowid FROM document_blocks WHERE document = ?", document), nullptr);
        }
    }

    // The document in the destination that has the same text and tokens by their checksums, of the same file.
    std::optional<int64_t> same_document(int64_t document)
    {
        const auto content = contents_of(from_, document);
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
                if (const int64_t id = find.getColumn(0).getInt64(); contents_of(to_, id) == content) return id;
            return std::nullopt;
        });
    }

    // Kind, index and checksum of every block, in order.
    static std::vector<std::array<int64_t, 3>> contents_of(Database& database, int64_t document)
    {
        return database.guarded([&] {
            std::vector<std::array<int64_t, 3>> all;
            auto query = database.statement(
                "SELECT kind, idx, hash FROM document_blocks WHERE document = ? ORDER BY kind, idx");
            query.bind(1, document);
            while (query.executeStep())
                all.push_back(
                    {query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), query.getColumn(2).getInt64()});
            return all;
        });
    }

    void copy_blocks()
    {
        const auto named =
            rows("SELECT DISTINCT block FROM snapshot_blocks JOIN snapshots ON snapshots.id = snapshot "
                 "WHERE session = ? AND complete = 1",
                 session_);
        std::vector<int64_t> missing;
        for (const int64_t block : named) {
            const auto there = same_block(block);
            there ? blocks_[block] = *there : (missing.push_back(block), 0);
        }
        for (const int64_t block : missing)
            check_block(block);
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
        for (size_t at = 0; at < keys.size(); at += rows_at_once)
            to_.transaction([&] {
                for (size_t i = at; i < std::min(keys.size(), at + rows_at_once); ++i)
                    copy(copied, keys[i], ids);
            });
    }

    Database& from_;
    Database& to_;
    int64_t session_;
    RowIds sessions_, documents_, messages_, snapshots_, blocks_;
};

// An error of the unfinished copy, as one of the file that the user has named.
Error with_file_name(const Error& error, const fs::path& part, const fs::path& file)
{
    const Text& subject = error.subject();
    if (subject != Text::escaped(part.string()) && subject != Text::escaped(part.string() + ".lock")) return error;
    return {error.kind(), error.code(), Text::escaped(file.string()), error.text(), error.remedy(), error.offset()};
}

} // namespace

void require_absent(const fs::path& file)
{
    std::error_code unknown;
    if (fs::exists(file, unknown))
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file.string()),
                    Text("it is there already"), Text("give a new file's name"));
}

void export_session(Database& database, int64_t session, const fs::path& file)
{
    require_absent(file);
    std::error_code unknown;
    const fs::path part = file.string() + ".part" + std::to_string(getpid());
    const auto clean = [&] {
        for (const char* ending : {"", "-wal", "-shm", "-journal", ".lock"})
            fs::remove(part.string() + ending, unknown);
    };
    try {
        {
            Database to(part, Database::Access::Write);
            Transfer(database, to, session).run("");
            to.guarded([&] { to.sql().exec("PRAGMA journal_mode = DELETE"); }); // one file, readable anywhere
        }
        fs::rename(part, file);
    } catch (const fs::filesystem_error&) {
        clean();
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(file.string()),
                    Text("it cannot be written"), Text("check the folder and its permissions"));
    } catch (const Error& error) {
        clean();
        throw with_file_name(error, part, file);
    } catch (...) {
        clean();
        throw;
    }
    clean();
}

std::string import_session(Database& database, const fs::path& file, const std::string& name)
{
    Database from(file, Database::Access::Read);
    // Opening for reading checks the tables of known versions only.
    if (from.guarded([&] { return version_of(from.sql()); }) > schema_version)
        throw Error(ErrorKind::Failed, ErrorCode::NewerDatabase, Text::escaped(file.string()),
                    Text("it was written by a newer version of Palimpsest"), Text("update Palimpsest"));
    const auto sessions = Conversations(from).list();
    if (sessions.size() != 1)
        throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(file.string()),
                    Text("it is not an exported session"), Text(Step::ExportSession));
    std::string taken = name.empty() ? sessions[0].name : name;
    Conversations(database).check_name(taken);
    Transfer(from, database, sessions[0].id).run(taken);
    return taken;
}

} // namespace palimpsest::storage
