// Older databases are read as they are, and migrated to the newest version completely or not at all
// (docs/validation.md, Q11 and V17).
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/session/session.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/provenance.h"
#include "storage/schema.h"
#include "storage/snapshots.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/support/test_level.h"
#include "tests/unit/storage/failing_disk.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::at_ci_level;
using palimpsest::tests::documented;
using palimpsest::tests::Fault;
using palimpsest::tests::FaultVfs;
using palimpsest::tests::quick_folder;
using palimpsest::tests::refusal;
namespace fs = std::filesystem;

namespace {

const fs::path fixtures = tests::source_file("tests/fixtures");

// Loaded with the SIMD instructions that computed the sample's states; null on another architecture.
std::shared_ptr<const engine::Model> model()
{
    static const auto loaded = []() -> std::shared_ptr<const engine::Model> {
        try {
            return engine::Model::load(fixtures / "models/llama.f32.gguf",
                                       kernels::open_backend({.device = "cpu", .threads = 1, .simd = "SSE4"}));
        } catch (const Error& error) {
            WARN(error.what());
            return nullptr;
        }
    }();
    return loaded;
}

// A copy of a database that a program with an older schema wrote, in its own folder.
class Sample {
public:
    explicit Sample(int schema, const fs::path& parent = fs::temp_directory_path()) : folder_(parent)
    {
        folder_.clear();
        fs::copy_file(fixtures / ("databases/schema-" + std::to_string(schema) + ".db"), file());
        fs::permissions(file(), fs::perms::owner_read | fs::perms::owner_write);
    }
    fs::path file() const { return folder_.file(); }

private:
    tests::ScratchDatabase folder_;
};

void check_session(Database& database, const std::string& name, size_t messages, uint64_t tokens)
{
    INFO(name);
    Conversations conversations(database);
    Snapshots snapshots(database);
    const SessionInfo info = conversations.get(name);
    const auto said = conversations.messages(info.id);
    REQUIRE(said.size() == messages);
    for (const Message& message : said)
        CHECK_FALSE(message.damaged);
    CHECK(tokens_of(conversations.stream(info.id)) == tokens);
    const auto states = snapshots.of(info.id);
    REQUIRE(states.size() == 2);
    for (const SnapshotInfo& state : states) {
        const engine::SessionState loaded = snapshots.load(state.id);
        if (model()) CHECK(engine::Session::restore(model(), loaded)->tokens_seen() == state.tokens_seen);
    }
}

std::string bytes_of(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Like check_content(), but faster: restores no session from a state.
void check_rows(Database& database)
{
    REQUIRE(Conversations(database).list().size() == 3);
    for (const SessionInfo& info : Conversations(database).list()) {
        REQUIRE(Conversations(database).messages(info.id).size() == (info.name == "talk" ? 4 : 2));
        REQUIRE(Snapshots(database).of(info.id).size() == 2);
        for (const SnapshotInfo& state : Snapshots(database).of(info.id))
            Snapshots(database).verify(state.id);
    }
    REQUIRE(Library(database).verify(Library(database).list().at(0).id) == 1442);
}

// Returns the format versions of the stored states, which a migration does not change.
std::set<uint8_t> state_formats(Database& database)
{
    std::set<uint8_t> formats;
    auto query = database.statement("SELECT header FROM snapshots");
    while (query.executeStep()) {
        const auto column = query.getColumn(0);
        REQUIRE(column.getBytes() > 12);
        formats.insert(static_cast<const uint8_t*>(column.getBlob())[8]);
    }
    return formats;
}

// Checks the content of the sample that was written with this schema, whatever its version is now.
void check_content(Database& database, int schema)
{
    REQUIRE(Conversations(database).list().size() == 3);
    check_session(database, "book", 2, 1480);
    check_session(database, "a copy", 2, 1480);
    check_session(database, "talk", 4, 67);
    CHECK(state_formats(database) == std::set<uint8_t>{schema == 1 ? uint8_t{1} : uint8_t{3}});
    Library library(database);
    REQUIRE(library.list().size() == 1);
    const DocumentInfo book = library.list()[0];
    CHECK(book.title == "book");
    CHECK(library.verify(book.id) == 1442);
    CHECK(book.source_bytes == (schema == 1 ? -1 : 2000));
    CHECK((book.source_hash == 0) == (schema == 1));
    CHECK(library.text_block(book.id, 0).size() == 2000);
    CHECK(book.format.empty());
    CHECK(library.pages(book.id).empty());
}

} // namespace

TEST_CASE("a database of an older schema is migrated to the newest with all its content")
{
    const int schema = GENERATE(1, 2, 3, 4, 5, 6, 7);
    const Sample sample(schema);
    {
        SQLite::Database before(sample.file().string(), SQLite::OPEN_READWRITE);
        before.exec("INSERT INTO pins(session, first, last) VALUES(1, 3, 9)");
    }
    Database database(sample.file(), Database::Access::Write);
    CHECK(version_of(database.sql()) == schema_version);
    check_content(database, schema);
    const auto pins = Conversations(database).pins(1);
    REQUIRE(pins.size() == 1);
    CHECK(pins[0].first == 3);
    CHECK(pins[0].last == 9);
    CHECK(pins[0].since == 0);
    CHECK(pins[0].label.empty());

    // The backup from before the migration is complete, has the old version, and is private to the user.
    const fs::path backup = before_schema(sample.file(), schema_version);
    CHECK(backup.parent_path() == backup_folder(sample.file()));
    Database before(backup, Database::Access::Read);
    CHECK(version_of(before.sql()) == schema);
    check_content(before, schema);
    CHECK(fs::status(backup).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(fs::status(backup.parent_path()).permissions() == fs::perms::owner_all);
}

TEST_CASE("an older database that is damaged or not ours is not migrated")
{
    const auto migrated = [](const char* harm) {
        const Sample sample(1);
        {
            SQLite::Database raw(sample.file().string(), SQLite::OPEN_READWRITE);
            raw.exec(harm);
        }
        const std::string before = bytes_of(sample.file());
        std::string code = refusal([&] { Database(sample.file(), Database::Access::Write); });
        INFO(harm);
        CHECK((bytes_of(sample.file()) == before));
        return code;
    };
    CHECK(migrated("INSERT INTO pins(session, first, last) VALUES(77, 1, 2)") == "PAL-DB-03"); // without a session
    CHECK(migrated("CREATE TRIGGER t AFTER INSERT ON pins BEGIN SELECT 1; END") == "PAL-DB-02");
    CHECK(migrated("ALTER TABLE pins ADD COLUMN since INTEGER") == "PAL-DB-02");
    CHECK(migrated("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'messages_of_session'") ==
          "PAL-DB-02");
}

namespace {

// After an interrupted or refused migration: the database is old or new, complete, and becomes new when it is
// opened.
void check_old_or_new(const fs::path& file, int schema)
{
    const fs::path backup = before_schema(file, schema_version);
    int version = 0;
    {
        Database found(file, Database::Access::Read);
        version = version_of(found.sql());
        check_rows(found);
        REQUIRE((version == schema || version == schema_version));
        REQUIRE(found.sql().execAndGet("PRAGMA integrity_check").getString() == "ok");
    }
    REQUIRE((version == schema || fs::exists(backup)));
    if (fs::exists(backup)) {
        Database copy(backup, Database::Access::Read);
        REQUIRE(version_of(copy.sql()) == schema);
        check_rows(copy);
    }
    Database again(file, Database::Access::Write);
    REQUIRE(version_of(again.sql()) == schema_version);
    check_rows(again);
    for (const fs::directory_entry& entry : fs::directory_iterator(backup.parent_path()))
        REQUIRE(entry.path() == backup);
}

int statements_left = 0;

int count_statement(unsigned, void*, void*, void*)
{
    if (--statements_left == 0) _exit(9);
    return 0;
}

int watch(sqlite3* db, char**, const sqlite3_api_routines*)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, nullptr);
}

// Opens the database in a child process that exits at its nth statement. Returns false if it executes fewer.
bool dies_at(int nth, const fs::path& file)
{
    const pid_t child = fork();
    if (child == 0) {
        statements_left = nth;
        sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
        _exit(refusal([&] { Database(file, Database::Access::Write); }).empty() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) != 1);
    return WEXITSTATUS(status) == 9;
}

} // namespace

TEST_CASE("V17: killed at any statement, a migration leaves the old database or the new one")
{
    const int schema = GENERATE(1, 2, 3, 4, 5, 6, 7), step = at_ci_level() ? 4 : 1;
    int old = 0, renewed = 0;
    for (int nth = 1;; nth += step) {
        INFO("statement " << nth);
        const Sample sample(schema, quick_folder());
        if (!dies_at(nth, sample.file())) break;
        int version = 0;
        {
            Database found(sample.file(), Database::Access::Read);
            version = version_of(found.sql());
        }
        ++(version == schema ? old : renewed);
        check_old_or_new(sample.file(), schema);
    }
    CHECK(old * step > 20);
    CHECK((old + renewed) * step > 40);
}

TEST_CASE("V17: whichever call to the disk fails, a migration leaves the old database or the new one")
{
    FaultVfs disk;
    const int schema = 2; // the newest older one: all of them take the same steps at the end
    const auto open = [](const fs::path& file) { Database(file, Database::Access::Write); };
    for (const Fault fault : tests::every_fault) {
        disk.arm(fault, 0, false);
        open(Sample(schema, quick_folder()).file());
        const uint64_t calls = disk.calls();
        uint64_t refused = 0;
        for (const bool persistent : {false, true})
            for (const uint64_t nth : tests::failing_calls(calls)) {
                INFO(name_of(fault) << (persistent ? " from call " : " at call ") << nth << " of " << calls);
                const Sample sample(schema, quick_folder());
                disk.arm(fault, nth, persistent);
                const std::string code = refusal([&] { open(sample.file()); });
                disk.heal();
                INFO(code);
                REQUIRE((code.empty() || documented().count(code) == 1));
                refused += !code.empty();
                check_old_or_new(sample.file(), schema);
            }
        REQUIRE(calls > 0);
        if (fault == Fault::ShortRead) CHECK(refused == 0); // short reads are continued
        if (tests::sweep_part().is_all() && (fault == Fault::Full || fault == Fault::Sync)) CHECK(refused > 0);
    }
}

TEST_CASE("an older database is read without migration, and an older export is imported")
{
    const int schema = GENERATE(1, 2, 3, 4, 5, 6, 7);
    const Sample sample(schema);
    {
        Database reader(sample.file(), Database::Access::Read);
        check_content(reader, schema);
        CHECK(Conversations(reader).pins(1).empty());
        CHECK(Provenances(reader).of(1, UINT64_MAX).empty() == (schema < 6));
        CHECK(version_of(reader.sql()) == schema);
    }
    {
        SQLite::Database one(sample.file().string(), SQLite::OPEN_READWRITE);
        one.exec("PRAGMA foreign_keys = ON; INSERT INTO pins(session, first, last) VALUES(1, 3, 9);"
                 "INSERT INTO sections(document, idx, title, first_token, first_byte) VALUES(1, 0, 'One', 3, 4);"
                 "DELETE FROM sessions WHERE name <> 'book'");
    }
    tests::ScratchDatabase newest;
    CHECK(import_session(*newest, sample.file(), "") == "book");
    check_session(*newest, "book", 2, 1480);
    const DocumentInfo book = Library(*newest).list().at(0);
    CHECK(book.source_bytes == (schema == 1 ? -1 : 2000));
    const auto sections = Library(*newest).sections(book.id);
    REQUIRE(sections.size() == 1);
    CHECK(sections[0].level == 1);
    REQUIRE(Conversations(*newest).pins(Conversations(*newest).get("book").id).size() == 1);
}

TEST_CASE("Q11: a damaged backup never gets its final name")
{
    FaultVfs disk;
    const Sample sample(1, quick_folder());
    Database database(sample.file(), Database::Access::Write);
    const fs::path backup = backup_folder(sample.file()) / "palimpsest-daily-2026-11-20.db";
    const auto make = [&] { back_up(database.sql(), backup); };
    disk.arm(Fault::Lost, 0, false);
    make();
    const uint64_t calls = disk.calls();
    uint64_t noticed = 0;
    for (uint64_t nth = 1; nth <= calls; ++nth) {
        fs::remove(backup);
        disk.arm(Fault::Lost, nth, false);
        bool refused = false;
        try {
            make();
        } catch (const std::exception&) {
            refused = true;
        }
        noticed += refused;
        CHECK(fs::exists(backup) != refused);
    }
    // Damage to a page of a table or an index is noticed here; damage within a value is noticed by its own checksum
    // when it is read.
    CHECK(noticed * 2 > calls);
}
