// An exported session on another machine: it goes on without reading again where its model is, and opens as text
// where it is not. The file is taken for hostile, and is never written.
#include <SQLiteCpp/Database.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sqlite3.h>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "storage/export_file.h"
#include "storage/interrupted.h"
#include "storage/passage_index.h"
#include "storage/passages/passage_vectors.h"
#include "storage/session/exported_session.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/random_model.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using namespace palimpsest::tests;
namespace fs = std::filesystem;

namespace {

// Its rows can be rounded, other than those of the fixtures.
const fs::path& wide_model()
{
    static const fs::path path = random_model({.layers = 2,
                                               .dim = 64,
                                               .heads = 2,
                                               .kv_heads = 2,
                                               .head_dim = 64,
                                               .vocabulary = 300,
                                               .has_tokenizer = true});
    return path;
}

StoredOptions with_model(const fs::path& path)
{
    StoredOptions given = options();
    given.model = engine::Model::load(path, kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""}));
    return given;
}

std::string bytes_of(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void change(const fs::path& file, const std::string& sql)
{
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(sql);
}

// Rows that do not match their checksums.
constexpr const char* insert_note =
    "INSERT INTO notes(session, document, first_token, end_token, first_byte, end_byte, section, origin, repeats, "
    "text, refused, tokens, seconds, hash) SELECT sessions.id, documents.id, 0, 1, 0, 1, -1, 0, 0, 'x', '', 1, 0, "
    "1 "
    "FROM sessions, documents";
constexpr const char* insert_provenance =
    "INSERT OR REPLACE INTO provenance(message, data, hash) SELECT max(id), '{}', 1 FROM messages";

// A session that has read a book and answered a question, exported.
class Gift {
public:
    explicit Gift(const StoredOptions& given) : given_(given)
    {
        session_ = &home_.with_book(given);
        say(*session_, "who kept the light?");
        session_->save();
    }

    const fs::path& file() const { return file_; }
    BookSession& home() { return home_; }
    StoredSession& session() { return *session_; }
    WrittenExport write() { return export_session(home_.store().database, session_->id(), file_); }
    WrittenExport write(SnapshotForm form)
    {
        const SessionInfo info = home_.store().conversations.get("book");
        return export_rounded(home_.store(), info, file_, form, given_, home_.listener);
    }

private:
    BookSession home_;
    StoredOptions given_;
    StoredSession* session_ = nullptr;
    fs::path file_ = home_.folder() / "a gift #1?.palimpsest";
};

} // namespace

TEST_CASE("an exported session goes on elsewhere without a token fed again, in every form")
{
    const StoredOptions given = with_model(wide_model());
    Gift gift(given);
    const auto form = GENERATE(SnapshotForm::Exact, SnapshotForm::Q8, SnapshotForm::Q4);
    const fs::path database = gift.home().folder() / "palimpsest.db";
    const std::string before = bytes_of(database) + bytes_of(database.string() + "-wal");
    form == SnapshotForm::Exact ? gift.write() : gift.write(form);
    CHECK(gift.home().store().snapshots.of(gift.session().id()).front().form == SnapshotForm::Exact);
    CHECK(bytes_of(database) + bytes_of(database.string() + "-wal") == before);

    BookSession elsewhere;
    elsewhere.open("another");
    const OpenedExport opened = open_export(elsewhere.store(), gift.file(), "", wide_model());
    CHECK(opened.is_new);
    CHECK(opened.model);
    CHECK(opened.session.name == "book");
    CHECK(elsewhere.store().snapshots.of(opened.session.id).front().form == form);
    StoredSession& session = elsewhere.open("book", given);
    CHECK(session.tokens_fed_again() == 0);
    CHECK(session.session().tokens_seen() == gift.session().session().tokens_seen());
    CHECK(session.session().retention().tokens == gift.session().session().retention().tokens);
    if (form == SnapshotForm::Exact) check_same(session, gift.session());
    CHECK(elsewhere.messages().size() == 2);
    CHECK(say(session, "and then?").size() == tests::answer_tokens);
    session.save();
    CHECK(elsewhere.store().snapshots.of(opened.session.id).front().form == form); // a rounded one stays so
}

TEST_CASE("a rounded export is smaller, and one that is rounded already is not rounded again")
{
    Gift gift(with_model(wide_model()));
    gift.write();
    ExportFile exact(gift.file());
    const auto whole = ExportContents::of(exact.database(), exact.session());
    fs::remove(gift.file());
    gift.write(SnapshotForm::Q4);
    ExportFile rounded(gift.file());
    const auto small = ExportContents::of(rounded.database(), rounded.session());
    CHECK(small.form == SnapshotForm::Q4);
    CHECK(small.cache_bytes < whole.cache_bytes / 2);
    CHECK(small.documents == 1);
    CHECK(small.messages == 2);
    CHECK(small.tokens == whole.tokens);
    BookSession elsewhere;
    elsewhere.open("another");
    const auto opened = open_export(elsewhere.store(), gift.file());
    for (const SnapshotForm form : {SnapshotForm::Exact, SnapshotForm::Q8, SnapshotForm::Q4})
        CHECK_FALSE(needs_rounding(elsewhere.store(), opened.session, form));
}

TEST_CASE("a file is imported once, and its session is found again after it has gone on or has another name")
{
    Gift gift(options());
    gift.write();
    const std::string before = bytes_of(gift.file());
    BookSession elsewhere;
    elsewhere.open("book"); // so that the name is taken
    const auto first = open_export(elsewhere.store(), gift.file());
    CHECK(first.session.name == "book (2)");
    elsewhere.store().conversations.rename(first.session.id, "from a friend");
    say(elsewhere.open("from a friend"), "who?");
    const auto second = open_export(elsewhere.store(), gift.file());
    CHECK_FALSE(second.is_new);
    CHECK(second.session.id == first.session.id);
    CHECK(second.session.name == "from a friend");
    for (const bool is_new : {true, false})
        CHECK(open_export(elsewhere.store(), gift.file(), "under this name").is_new == is_new);
    CHECK(elsewhere.store().library.list().size() == 1);
    CHECK(bytes_of(gift.file()) == before);
    const fs::directory_iterator beside(gift.home().folder());
    CHECK(std::count_if(beside, {}, [](const fs::directory_entry& entry) {
              return entry.path().filename().string().starts_with("a gift");
          }) == 1); // SQLite has made no file for it
}

TEST_CASE("a file is imported again where its session has lost its cache since")
{
    Gift gift(options());
    gift.write();
    BookSession elsewhere;
    elsewhere.open("another");
    const auto first = open_export(elsewhere.store(), gift.file());
    elsewhere.store().snapshots.remove_all(first.session.id);
    ExportFile file(gift.file());
    CHECK_FALSE(find_opened_export(elsewhere.store(), file));
    const auto second = open_export(elsewhere.store(), gift.file());
    CHECK(second.is_new);
    CHECK(second.session.id != first.session.id);
    const auto third = find_opened_export(elsewhere.store(), file);
    REQUIRE(third);
    CHECK(third->session.id == second.session.id);
    CHECK(find_opened_export(elsewhere.store(), file, first.session.name)); // asked for by its name
    elsewhere.store().conversations.take_back(second.session);
    CHECK(elsewhere.store().library.list().size() == 1); // the first has it
}

TEST_CASE("headings of a document from elsewhere do not become those of another with the same text")
{
    Gift gift(options());
    gift.write();
    const fs::path forged = gift.home().folder() / "forged.palimpsest";
    fs::copy_file(gift.file(), forged);
    change(forged, "UPDATE documents SET title = 'forged'");
    BookSession elsewhere;
    elsewhere.open("another");
    open_export(elsewhere.store(), forged, "forged");
    const auto genuine = open_export(elsewhere.store(), gift.file(), "genuine");
    CHECK(elsewhere.store().library.list().size() == 2);
    for (const StreamPart& part : elsewhere.store().conversations.stream(genuine.session.id))
        if (const StreamDocument* document = document_in(part))
            CHECK(elsewhere.store().library.get(document->id).title ==
                  gift.home().store().library.list().front().title);
}

TEST_CASE("without its model an exported session is text, and its folders stay at home")
{
    Gift gift(options());
    gift.write();
    const auto other = random_model({.layers = 1, .dim = 16, .heads = 2, .kv_heads = 1, .head_dim = 8, .ffn = 16});
    BookSession elsewhere;
    elsewhere.open("another");
    const auto opened = open_export(elsewhere.store(), gift.file(), "", other);
    CHECK_FALSE(opened.model);
    Store& store = elsewhere.store();
    CHECK(store.conversations.messages(opened.session.id).size() == 2);
    const auto documents = store.library.list();
    REQUIRE(documents.size() == 1);
    CHECK(documents[0].source == "book.txt");
    CHECK(PassageIndex(store.database).is_complete(documents[0].id));
    CHECK(opened.session.options.find(gift.home().folder().string()) == std::string::npos);
    CHECK(opened.session.options.find(fixtures) == std::string::npos);
}

TEST_CASE("embeddings go along if they are about the same passages")
{
    Gift gift(options());
    Database& home = gift.home().store().database;
    const int64_t document = gift.home().store().library.list().at(0).id;
    const size_t passages = PassageIndex(home).all(document).size();
    const std::vector<float> window{0.6F, 0.8F};
    home.transaction([&] {
        for (size_t i = 0; i < passages; ++i)
            PassageVectors(home).append(document, "an encoder", window, window.size());
    });
    gift.write();
    const bool are_others = GENERATE(false, true);
    if (are_others) change(gift.file(), "UPDATE passages SET end_byte = end_byte - 1 WHERE idx = 0");
    ScratchDatabase elsewhere;
    import_session(*elsewhere, gift.file(), "");
    const int64_t there = Library(*elsewhere).list().at(0).id;
    CHECK(PassageIndex(*elsewhere).is_complete(there));
    CHECK(PassageVectors(*elsewhere).count(there, "an encoder") ==
          (are_others ? 0 : static_cast<int64_t>(passages)));
}

TEST_CASE("an import that is stopped at any time leaves nothing")
{
    Gift gift(options());
    gift.write();
    ScratchDatabase elsewhere;
    const auto rows = [&](const char* table) {
        return elsewhere->sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt();
    };
    struct Stopping {
        std::stop_source source;
        int commits_left = 0;
    };
    const auto at_commit = [](void* given) {
        auto& stopping = *static_cast<Stopping*>(given);
        if (stopping.commits_left-- == 0) stopping.source.request_stop();
        return 0;
    };
    int stopped = 0;
    for (bool is_done = false; !is_done; ++stopped) {
        Stopping stopping{.source = {}, .commits_left = stopped};
        if (stopped == 0) stopping.source.request_stop();
        sqlite3_commit_hook(elsewhere->sql().getHandle(), at_commit, &stopping);
        try {
            import_session(*elsewhere, gift.file(), "", stopping.source.get_token());
            is_done = true;
        } catch (const Interrupted&) {
        }
        sqlite3_commit_hook(elsewhere->sql().getHandle(), nullptr, nullptr);
        if (is_done) break;
        for (const char* table : {"sessions", "documents", "document_blocks", "blocks", "passages", "messages"})
            CHECK(rows(table) == 0);
    }
    CHECK(stopped > 4);
    CHECK(rows("sessions") == 1);
}

TEST_CASE("the checks of an exported file can be stopped")
{
    Gift gift(options());
    CHECK(gift.write().losses.sentences().empty());
    std::stop_source source;
    ExportFile file(gift.file(), source.get_token());
    source.request_stop();
    CHECK_THROWS_AS(file.identity(), Interrupted);
    CHECK_THROWS_AS(ExportFile(gift.file(), source.get_token()), Interrupted);
    CHECK_THROWS_AS(open_export(gift.home().store(), gift.file(), "", {}, source.get_token()), Interrupted);
}

TEST_CASE("what is damaged at home and can be missed is not in the export, and names in it are text")
{
    Gift gift(options());
    SQLite::Database& home = gift.home().store().database.sql();
    home.exec(insert_note);
    home.exec(insert_provenance);
    home.exec("UPDATE documents SET title = CAST(X'62FF' AS TEXT)");
    home.exec("INSERT INTO sections(document, idx, title, first_token, first_byte) SELECT id, 99, "
              "CAST(X'62FF' AS TEXT), 0, 0 FROM documents");
    home.exec("INSERT INTO pages(document, idx, label, first_token, first_byte) SELECT id, 99, "
              "CAST(X'FF' AS TEXT), 0, 0 FROM documents");
    home.exec("INSERT OR REPLACE INTO metadata(document, format, author, language) SELECT id, 'text', "
              "CAST(X'62FF' AS TEXT), CAST(X'FF' AS TEXT) FROM documents");
    home.exec("UPDATE sessions SET name = CAST(X'62FF' AS TEXT), model_name = CAST(X'FF' AS TEXT)");
    const WrittenExport written = gift.write();
    CHECK(written.holds.session == "b\uFFFD");
    CHECK(written.holds.notes == 0);
    CHECK(written.holds.bytes == fs::file_size(gift.file()));
    CHECK(written.losses.notes == 1);
    CHECK(written.losses.sources == 1);
    CHECK(written.losses.names == 7);
    CHECK(written.losses.sentences().size() == 3);
    ScratchDatabase elsewhere;
    CHECK(import_session(*elsewhere, gift.file(), "") == "b\uFFFD");
    CHECK(elsewhere->sql().execAndGet("SELECT count(*) FROM notes").getInt() == 0);
    CHECK(elsewhere->sql().execAndGet("SELECT count(*) FROM provenance").getInt() == 0);
    CHECK(Library(*elsewhere).list().at(0).title == "b\uFFFD");
    CHECK(elsewhere->sql().execAndGet("SELECT title FROM sections WHERE idx = 99").getString() == "b\uFFFD");
}

TEST_CASE("an export with a damaged message says that it cannot be imported")
{
    Gift gift(options());
    gift.home().store().database.sql().exec("UPDATE messages SET text = text || '.'");
    const WrittenExport written = gift.write();
    CHECK(written.losses.messages == written.holds.messages);
    CHECK(written.losses.sentences().size() == 1);
    ScratchDatabase elsewhere;
    CHECK(refusal([&] { import_session(*elsewhere, gift.file(), ""); }) == "PAL-DB-03");
}

TEST_CASE("a pin beyond the text, as older versions set it, does not keep an export from being imported")
{
    Gift gift(options());
    gift.write();
    change(gift.file(), "INSERT INTO pins(session, first, last) SELECT id, 999999, 1000001 FROM sessions");
    ScratchDatabase elsewhere;
    import_session(*elsewhere, gift.file(), "");
    CHECK(elsewhere->sql().execAndGet("SELECT count(*) FROM pins WHERE last = 1000001").getInt() == 1);
}

TEST_CASE("a hostile, damaged or newer export is refused in one sentence, and changes nothing")
{
    Gift gift(options());
    gift.write();
    ScratchDatabase elsewhere;
    Conversations(*elsewhere).create({.name = "own", .model = "m", .model_name = "m", .options = "{}"});
    const auto rows = [&](const char* table) {
        return elsewhere->sql().execAndGet(std::string("SELECT count(*) FROM ") + table).getInt();
    };
    const auto refused = [&] {
        const std::string before = bytes_of(gift.file());
        const std::string code = refusal([&] { import_session(*elsewhere, gift.file(), ""); });
        CHECK(bytes_of(gift.file()) == before);
        for (const char* table : {"documents", "document_blocks", "blocks", "passages", "messages"})
            CHECK(rows(table) == 0);
        CHECK(rows("sessions") == 1);
        return code;
    };
    SECTION("a trigger never runs")
    {
        change(gift.file(), "CREATE TRIGGER t AFTER INSERT ON sessions BEGIN DELETE FROM sessions; END");
        CHECK(refused() == "PAL-DB-02");
    }
    SECTION("a view in the place of a table")
    {
        change(gift.file(), "DROP TABLE pins; CREATE VIEW pins AS SELECT 1 AS session, 2 AS first, 3 AS last, "
                            "4 AS since, 'x' AS label");
        CHECK(refused() == "PAL-DB-02");
    }
    SECTION("two sessions")
    {
        change(gift.file(), "INSERT INTO sessions(name, model, model_name, options, created_ms, changed_ms) "
                            "VALUES('b', 'm', 'm', '{}', 0, 0)");
        CHECK(refused() == "PAL-DB-02");
    }
    SECTION("text that does not match its checksum")
    {
        change(gift.file(), "UPDATE document_blocks SET hash = hash + 1 WHERE kind = 0");
        CHECK(refused() == "PAL-DOC-05");
    }
    SECTION("text whose last block is not there")
    {
        change(gift.file(), "DELETE FROM document_blocks WHERE kind = 0 AND idx = (SELECT max(idx) FROM "
                            "document_blocks WHERE kind = 0)");
        CHECK(refused() == "PAL-DOC-05");
    }
    SECTION("a state whose header does not match its checksum")
    {
        change(gift.file(), "UPDATE snapshots SET hash = hash + 1");
        CHECK(refused() == "PAL-SNAP-03");
    }
    SECTION("a state whose last block is not there")
    {
        change(gift.file(), "DELETE FROM snapshot_blocks WHERE idx = (SELECT max(idx) FROM snapshot_blocks)");
        CHECK(refused() == "PAL-SNAP-03");
    }
    SECTION("an answer that does not match its checksum")
    {
        change(gift.file(), "UPDATE messages SET text = text || '.'");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a message of nobody")
    {
        change(gift.file(), "UPDATE messages SET role = 7");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a pin that no version sets")
    {
        const std::string range = GENERATE("1, 99999999", "-1, 3", "9, 9", "99999999, 9999999999");
        change(gift.file(), "INSERT INTO pins(session, first, last) SELECT id, " + range + " FROM sessions");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a section beyond the text")
    {
        const std::string column = GENERATE("first_token", "first_byte"), number = GENERATE("-1", "99999999");
        change(gift.file(), "INSERT OR REPLACE INTO sections(document, idx, title, first_token, first_byte) SELECT "
                            "id, 0, 'x', 0, 0 FROM documents");
        change(gift.file(), "UPDATE sections SET " + column + " = " + number);
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a page beyond the text")
    {
        change(gift.file(),
               "INSERT INTO pages(document, idx, label, first_token, first_byte) SELECT id, 0, 'x', 0, "
               "99999999 FROM documents");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a title that is not text")
    {
        change(gift.file(), "UPDATE documents SET title = CAST(X'62FF' AS TEXT)");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a heading that is not text")
    {
        change(gift.file(), "INSERT INTO sections(document, idx, title, first_token, first_byte) SELECT id, 99, "
                            "CAST(X'62FF' AS TEXT), 0, 0 FROM documents");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a note that does not match its checksum")
    {
        change(gift.file(), insert_note);
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("sources of an answer that do not match their checksum")
    {
        change(gift.file(), insert_provenance);
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a record of what faded that does not match its checksum")
    {
        change(gift.file(),
               "INSERT INTO fading(session, idx, tokens_seen, raw, hash, data) SELECT id, 99, 0, 12, 1, "
               "zeroblob(12) FROM sessions");
        CHECK_FALSE(refused().empty());
    }
    SECTION("a name that is not text")
    {
        change(gift.file(), "UPDATE sessions SET name = CAST(X'62FF' AS TEXT)");
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a block that does not match its checksum")
    {
        change(gift.file(), "UPDATE blocks SET hash = randomblob(16)");
        CHECK(refused() == "PAL-SNAP-03");
    }
    SECTION("rows that name others that are not there")
    {
        change(gift.file(), "PRAGMA foreign_keys = OFF; DELETE FROM documents");
        CHECK_FALSE(refused().empty());
    }
    SECTION("a newer version")
    {
        change(gift.file(), "PRAGMA user_version = 99");
        CHECK(refused() == "PAL-DB-05");
    }
    SECTION("a file that was cut off")
    {
        fs::resize_file(gift.file(), fs::file_size(gift.file()) / 2);
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("an empty file")
    {
        fs::resize_file(gift.file(), 0);
        CHECK(refused() == "PAL-DB-03");
    }
    SECTION("a database with a log beside it")
    {
        std::ofstream(gift.file().string() + "-wal", std::ios::binary) << "rows that are not in it yet";
        CHECK(refused() == "PAL-DB-02");
    }
    SECTION("a file that is no database")
    {
        std::ofstream(gift.file(), std::ios::binary) << "a text";
        CHECK(is_export(gift.file())); // by its name, so that it is not read as text
        CHECK(refused() == "PAL-DB-02");
    }
}

TEST_CASE("an exported session is known by its content, and opens where nothing can be written")
{
    Gift gift(options());
    gift.write();
    const fs::path plain = gift.home().folder() / "book.txt";
    CHECK_FALSE(is_export(plain));
    CHECK_FALSE(is_export(gift.home().folder()));
    CHECK_FALSE(is_export(gift.home().folder() / "nothing.palimpsest"));
    const fs::path pipe = gift.home().folder() / "pipe.palimpsest";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(refusal([&] { ExportFile{pipe}; }) == "PAL-DB-02");
    CHECK(refusal([&] { ExportFile{gift.home().folder()}; }) == "PAL-DB-02");
    const fs::path folder = gift.home().folder() / "medium", renamed = folder / "book.txt";
    fs::create_directory(folder);
    fs::copy_file(gift.file(), renamed);
    CHECK(is_export(renamed));
    fs::permissions(renamed, fs::perms::owner_read);
    fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
    ExportFile once(renamed), twice(renamed);
    CHECK(once.identity() == ExportFile(gift.file()).identity());
    CHECK(twice.session().name == "book");
    fs::permissions(folder, fs::perms::owner_all);
}
