#include "storage/schema.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <set>
#include <sqlite3.h>
#include <string>
#include <tuple>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/backup_files.h"

namespace palimpsest::storage {
namespace {

// Token ids, text and snapshots are large, so rows hold at most 1 MiB of them. Every content row carries the XXH3
// of its content. Rows are ordered by `id`, never by time.
// Kept apart, because a damaged index is made anew. Never change it: SQLite stores the text.
#define PALIMPSEST_PASSAGE_TEXTS                                                                                   \
    "CREATE VIRTUAL TABLE passage_texts USING fts5(text, heading, tokenize = 'porter unicode61 remove_diacritics " \
    "2');"
struct Migration {
    const char* sql;     // migrates from the version before
    const char* as_read; // creates temporary views that show a reader the version before as if it were migrated
};
constexpr Migration migrations[schema_version] = {
    // 0 -> 1
    {.sql = R"sql(
CREATE TABLE settings(
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL) STRICT;

CREATE TABLE documents(
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    title             TEXT NOT NULL,
    source            TEXT NOT NULL,
    tokenizer         TEXT NOT NULL, -- fingerprint of the model whose token ids are stored
    bytes             INTEGER NOT NULL,
    words             INTEGER NOT NULL,
    tokens            INTEGER NOT NULL,
    invalid_sequences INTEGER NOT NULL,
    nul_characters    INTEGER NOT NULL,
    created_ms        INTEGER NOT NULL,
    complete          INTEGER NOT NULL) STRICT; -- 0 while it is being imported

-- Text as cleaned, token ids (u32) and how many bytes of the text each token takes (varints).
CREATE TABLE document_blocks(
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    kind     INTEGER NOT NULL, -- 0 text, 1 ids, 2 lengths
    idx      INTEGER NOT NULL,
    raw      INTEGER NOT NULL,
    hash     INTEGER NOT NULL, -- of the raw bytes
    data     BLOB NOT NULL,
    PRIMARY KEY(document, kind, idx)) STRICT;

CREATE TABLE sections(
    document    INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    title       TEXT NOT NULL,
    first_token INTEGER NOT NULL,
    first_byte  INTEGER NOT NULL,
    PRIMARY KEY(document, idx)) STRICT;

CREATE TABLE sessions(
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    model      TEXT NOT NULL, -- fingerprint
    model_name TEXT NOT NULL,
    options    TEXT NOT NULL, -- JSON: policy, budget, chunk, positions, KV type, sampling
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL) STRICT;

-- A tree: an edited message is a sibling, never an overwrite.
CREATE TABLE messages(
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session    INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    parent     INTEGER REFERENCES messages(id) ON DELETE CASCADE,
    role       INTEGER NOT NULL, -- 0 user, 1 assistant
    state      INTEGER NOT NULL, -- 0 growing, 1 complete, 2 stopped, 3 cut at its length
    text       TEXT NOT NULL,
    ids        BLOB NOT NULL,
    hash       INTEGER NOT NULL, -- of text and ids
    created_ms INTEGER NOT NULL) STRICT;
CREATE INDEX messages_of_session ON messages(session);

-- What was fed, in order: the way to rebuild a session whose state is gone.
CREATE TABLE stream(
    session     INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    tokens      INTEGER NOT NULL, -- of a document or of `ids`; a message has as many as its own ids
    document    INTEGER REFERENCES documents(id),
    message     INTEGER REFERENCES messages(id) ON DELETE CASCADE,
    ids         BLOB NOT NULL, -- of what is neither: framing
    PRIMARY KEY(session, idx)) STRICT;

CREATE TABLE snapshots(
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session     INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    complete    INTEGER NOT NULL, -- 0 while it is being written
    tokens_seen INTEGER NOT NULL,
    header      BLOB NOT NULL,
    hash        INTEGER NOT NULL, -- of the header, which names every block by hash
    bytes       INTEGER NOT NULL,
    created_ms  INTEGER NOT NULL) STRICT;
CREATE INDEX snapshots_of_session ON snapshots(session);

-- Shared by content between snapshots and forks.
CREATE TABLE blocks(
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE, -- XXH3-128 of the raw bytes
    raw  INTEGER NOT NULL,
    seal INTEGER NOT NULL, -- XXH3-64 of data: zstd overlooks some bits
    data BLOB NOT NULL) STRICT;
CREATE TABLE snapshot_blocks(
    snapshot INTEGER NOT NULL REFERENCES snapshots(id) ON DELETE CASCADE,
    idx      INTEGER NOT NULL,
    block    INTEGER NOT NULL REFERENCES blocks(id),
    PRIMARY KEY(snapshot, idx)) STRICT;
CREATE INDEX snapshot_blocks_of_block ON snapshot_blocks(block);

-- Layer, token and chunk (u32 each) of every token a layer has let go of, appended at checkpoints.
CREATE TABLE fading(
    session     INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    tokens_seen INTEGER NOT NULL, -- of the checkpoint it belongs to
    raw         INTEGER NOT NULL,
    hash        INTEGER NOT NULL,
    data        BLOB NOT NULL,
    PRIMARY KEY(session, idx)) STRICT;

CREATE TABLE pins(
    session INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    first   INTEGER NOT NULL, -- stream indices
    last    INTEGER NOT NULL,
    PRIMARY KEY(session, first)) STRICT;
)sql",
     .as_read = ""},
    // 1 -> 2
    {.sql = R"sql(
ALTER TABLE pins ADD COLUMN since INTEGER NOT NULL DEFAULT 0; -- tokens of the stream that were computed when it was set
ALTER TABLE pins ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN source_bytes INTEGER NOT NULL DEFAULT -1; -- of the file as it was; -1: not known
ALTER TABLE documents ADD COLUMN source_hash INTEGER NOT NULL DEFAULT 0;   -- XXH3-64 of them
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW pins AS SELECT *, 0 AS since, '' AS label FROM main.pins;
CREATE TEMP VIEW documents AS SELECT *, -1 AS source_bytes, 0 AS source_hash FROM main.documents;
)sql"},
    // 2 -> 3
    {.sql = R"sql(
-- Passages that are searched and read again. They follow from the text, and backups leave them out.
CREATE TABLE passages(
    id          INTEGER PRIMARY KEY,
    document    INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    first_token INTEGER NOT NULL, -- tokens and bytes are those of the document, half-open
    end_token   INTEGER NOT NULL,
    first_byte  INTEGER NOT NULL,
    end_byte    INTEGER NOT NULL,
    section     INTEGER NOT NULL) STRICT; -- -1: before the first
CREATE UNIQUE INDEX passages_of_document ON passages(document, idx);

-- Documents all of whose passages are there.
CREATE TABLE indexed_documents(
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    passages INTEGER NOT NULL) STRICT;

-- Rows have the ids of the passages. SQLite refuses triggers on it, as the schema is not trusted.
)sql" PALIMPSEST_PASSAGE_TEXTS,
     .as_read = R"sql(
CREATE TEMP VIEW indexed_documents AS SELECT 0 AS document, 0 AS passages WHERE 0;
CREATE TEMP VIEW passages AS SELECT 0 AS id, 0 AS document, 0 AS idx, 0 AS first_token, 0 AS end_token,
    0 AS first_byte, 0 AS end_byte, 0 AS section WHERE 0;
)sql"},
    // 3 -> 4
    {.sql = R"sql(
-- Passages of documents that a message reads again; their tokens are among the message's ids.
CREATE TABLE read_again(
    message     INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
    at          INTEGER NOT NULL, -- index in the message's ids of the first token
    document    INTEGER NOT NULL REFERENCES documents(id),
    first_token INTEGER NOT NULL, -- of the document, half-open
    end_token   INTEGER NOT NULL,
    held        REAL NOT NULL,    -- share of its kept (layer, head, token) triples before
    PRIMARY KEY(message, at)) STRICT;

-- Embeddings of a document's first passages. They follow from the text, and backups leave them out.
CREATE TABLE encoded_documents(
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    encoder  TEXT NOT NULL, -- identity
    passages INTEGER NOT NULL) STRICT;
CREATE TABLE passage_vectors(
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    idx      INTEGER NOT NULL, -- of the passage
    data     BLOB NOT NULL,
    PRIMARY KEY(document, idx)) STRICT;
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW read_again AS SELECT 0 AS message, 0 AS at, 0 AS document, 0 AS first_token, 0 AS end_token,
    0.0 AS held WHERE 0;
CREATE TEMP VIEW encoded_documents AS SELECT 0 AS document, '' AS encoder, 0 AS passages WHERE 0;
)sql"},
    // 4 -> 5
    {.sql = R"sql(
-- What stretches of a session's documents say, in a few words (storage/notes/note.h).
CREATE TABLE notes(
    session     INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    document    INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    first_token INTEGER NOT NULL, -- tokens and bytes are those of the document, half-open
    end_token   INTEGER NOT NULL,
    first_byte  INTEGER NOT NULL,
    end_byte    INTEGER NOT NULL,
    section     INTEGER NOT NULL, -- -1: before the first
    origin      INTEGER NOT NULL, -- 0 written by the model, 1 quoted from the document
    repeats     INTEGER NOT NULL, -- 1: the model repeated itself
    text        TEXT NOT NULL,
    refused     TEXT NOT NULL,    -- what the model wrote, if it is quoted
    tokens      INTEGER NOT NULL, -- computed to make it
    seconds     REAL NOT NULL,
    hash        INTEGER NOT NULL, -- of what the note says and is about
    PRIMARY KEY(session, document, first_token)) STRICT;
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW notes AS SELECT 0 AS session, 0 AS document, 0 AS first_token, 0 AS end_token, 0 AS first_byte,
    0 AS end_byte, 0 AS section, 0 AS origin, 0 AS repeats, '' AS text, '' AS refused, 0 AS tokens,
    0.0 AS seconds, 0 AS hash WHERE 0;
)sql"},
    // 5 -> 6
    {.sql = R"sql(
-- Where an answer comes from (storage/provenance.h).
CREATE TABLE provenance(
    message INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
    data    TEXT NOT NULL,             -- JSON
    hash    INTEGER NOT NULL) STRICT;  -- of the data
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW provenance AS SELECT 0 AS message, '' AS data, 0 AS hash WHERE 0;
)sql"},
    // 6 -> 7
    {.sql = R"sql(
ALTER TABLE sections ADD COLUMN level INTEGER NOT NULL DEFAULT 1; -- 1: not within another

-- What documents say of themselves; empty: nothing.
CREATE TABLE metadata(
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    format   TEXT NOT NULL, -- as a user calls it: "EPUB"
    author   TEXT NOT NULL,
    language TEXT NOT NULL) STRICT;

-- Pages as they are printed, of documents that have them. A page without text begins where the next one does.
CREATE TABLE pages(
    document    INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    label       TEXT NOT NULL,
    first_token INTEGER NOT NULL,
    first_byte  INTEGER NOT NULL,
    PRIMARY KEY(document, idx)) STRICT;
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW sections AS SELECT *, 1 AS level FROM main.sections;
CREATE TEMP VIEW metadata AS SELECT 0 AS document, '' AS format, '' AS author, '' AS language WHERE 0;
CREATE TEMP VIEW pages AS SELECT 0 AS document, 0 AS idx, '' AS label, 0 AS first_token, 0 AS first_byte WHERE 0;
)sql"},
    // 7 -> 8
    {.sql = R"sql(
-- Documents that stay when no session uses them any more.
CREATE TABLE library(
    document INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    added_ms INTEGER NOT NULL) STRICT;

-- Documents that were made here from a file: they are taken for every file of this content (documents.source_bytes,
-- source_hash). An imported document says of itself what it likes, and has no row.
CREATE TABLE made_here(
    document   INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
    first_text INTEGER NOT NULL, -- 1: its ids are those of a text that begins its stream, and would be others elsewhere
    parser     INTEGER NOT NULL) STRICT; -- version of what made the text of the file

CREATE INDEX documents_of_size ON documents(source_bytes);
CREATE INDEX stream_of_document ON stream(document);

-- Further files with the content of a document, which were read without being stored again.
CREATE TABLE further_sources(
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    source   TEXT NOT NULL,
    PRIMARY KEY(document, source)) STRICT;
)sql",
     .as_read = R"sql(
CREATE TEMP VIEW library AS SELECT 0 AS document, 0 AS added_ms WHERE 0;
CREATE TEMP VIEW made_here AS SELECT 0 AS document, 0 AS first_text, 0 AS parser WHERE 0;
CREATE TEMP VIEW further_sources AS SELECT 0 AS document, '' AS source WHERE 0;
)sql"}};

[[noreturn]] void refuse(SQLite::Database& db, const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(db.getFilename()), what,
                Text("it was left as it is; {0}", Step::ChooseDatabase));
}

[[noreturn]] void refuse_damaged_schema(SQLite::Database& db, const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text::escaped(db.getFilename()),
                Text("it is damaged ({0})", what), restoring_advice(db.getFilename()));
}

int pragma(SQLite::Database& db, const char* name)
{
    return db.execAndGet(std::string("PRAGMA ") + name).getInt();
}

using Object = std::tuple<std::string, std::string, std::string>;

// Leaves out the tables that FTS5 makes for itself, which may differ between its versions.
std::set<Object> objects(SQLite::Database& db)
{
    std::set<Object> all;
    SQLite::Statement query(db, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema "
                                "WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND NOT (type = 'table' AND name IN "
                                "('passage_texts_data', 'passage_texts_idx', 'passage_texts_content', "
                                "'passage_texts_docsize', 'passage_texts_config'))");
    while (query.executeStep())
        all.emplace(query.getColumn(0).getString(), query.getColumn(1).getString(), query.getColumn(2).getString());
    return all;
}

std::set<Object> objects_of(int version)
{
    SQLite::Database expected(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (int step = 0; step < version; ++step)
        expected.exec(migrations[step].sql);
    return objects(expected);
}

// Damage overwrites bytes; who changes a table or adds one changes their number.
bool is_overwritten(const std::set<Object>& found, const std::set<Object>& expected)
{
    const auto bytes = [](const std::set<Object>& all) {
        size_t sum = 0;
        for (const auto& [type, name, sql] : all)
            sum += type.size() + name.size() + sql.size();
        return sum;
    };
    return found.size() == expected.size() && bytes(found) == bytes(expected);
}

// Checks references and pages before a migration is committed.
void check_content(SQLite::Database& db)
{
    SQLite::Statement orphan(db, "PRAGMA foreign_key_check");
    if (orphan.executeStep())
        refuse_damaged_schema(
            db, Text("a row of '{0}' names another that is not there", printable(orphan.getColumn(0).getString())));
    const std::string found = db.execAndGet("PRAGMA quick_check(1)").getString();
    if (found != "ok") refuse_damaged_schema(db, Text::escaped(found));
}

} // namespace

int version_of(SQLite::Database& db)
{
    const int version = pragma(db, "user_version"), application = pragma(db, "application_id");
    if (application == application_id && version > 0) return version;
    if (application == 0 && version == 0 && objects(db).empty()) return 0;
    if (find_known_version(db)) refuse_damaged_schema(db, Text("its first page"));
    refuse(db, Text("it is not a Palimpsest database"));
}

void migrate(SQLite::Database& db)
{
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const int first = version_of(db);
    if (first > 0) check_schema(db, first);
    for (int version = first; version < schema_version; ++version)
        db.exec(migrations[version].sql);
    db.exec("PRAGMA application_id = " + std::to_string(application_id));
    db.exec("PRAGMA user_version = " + std::to_string(schema_version));
    check_schema(db, schema_version);
    if (first > 0) check_content(db);
    transaction.commit();
}

void check_schema(SQLite::Database& db, int version)
{
    const auto found = objects(db), expected = objects_of(version);
    if (found == expected) return;
    if (is_overwritten(found, expected) || find_known_version(db))
        refuse_damaged_schema(db, Text("its first page"));
    refuse(db, Text("its tables are not those of a Palimpsest database"));
}

std::optional<int> find_known_version(SQLite::Database& db)
{
    const auto found = objects(db);
    for (int version = schema_version; version > 0; --version)
        if (found == objects_of(version)) return version;
    return std::nullopt;
}

// SQLite drops no index whose structure it cannot read, so the structure becomes that of an empty index first.
void discard_passages(SQLite::Database& db)
{
    const struct Writable { // the tables that FTS5 keeps
        explicit Writable(sqlite3* handle) : handle(handle) { set_defensive(0); }
        ~Writable() { set_defensive(1); }
        Writable(const Writable&) = delete;
        Writable& operator=(const Writable&) = delete;
        void set_defensive(int on) const { sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, on, nullptr); }
        sqlite3* handle;
    } writable(db.getHandle());
    db.exec("DELETE FROM passage_texts_idx; DELETE FROM passage_texts_data; "
            "INSERT INTO passage_texts_data(id, block) VALUES(1, x''), (10, x'00000000000000'); "
            "DROP TABLE passage_texts");
    db.exec(PALIMPSEST_PASSAGE_TEXTS);
    db.exec("DELETE FROM indexed_documents; DELETE FROM passages; DELETE FROM encoded_documents; DELETE FROM "
            "passage_vectors;");
}

void add_compatibility_views(SQLite::Database& db, int version)
{
    for (int step = version; step < schema_version; ++step)
        db.exec(migrations[step].as_read);
}

} // namespace palimpsest::storage
