// Older databases: read as they are, and brought to the newest version whole or not at all (reliability.md, Q7,
// V17).
#include <fstream>
#include <functional>
#include <iterator>

#include "engine/session/session.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/schema.h"
#include "storage/snapshots.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
namespace fs = std::filesystem;

namespace {

const fs::path fixtures = PALIMPSEST_SOURCE_DIR "/tests/fixtures";

// With the instructions that computed the sample's states; none on another architecture.
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

// A database that a program of schema 1 wrote, in a folder of its own.
class Sample {
public:
    Sample()
    {
        folder_.close();
        for (const char* ending : {"", "-wal", "-shm", ".lock"})
            fs::remove(folder_.file().string() + ending);
        fs::copy_file(fixtures / "databases/schema-1.db", file());
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
    uint64_t fed = 0;
    for (const StreamPart& part : conversations.stream(info.id))
        fed += part.tokens;
    CHECK(fed == tokens);
    const auto states = snapshots.of(info.id);
    REQUIRE(states.size() == 2);
    for (const SnapshotInfo& state : states) {
        const engine::SessionState loaded = snapshots.load(state.id);
        if (model()) CHECK(engine::Session::restore(model(), loaded)->tokens_seen() == state.tokens_seen);
    }
}

// What the sample holds, whichever version it has by now.
void check_content(Database& database)
{
    REQUIRE(Conversations(database).list().size() == 3);
    check_session(database, "book", 2, 1480);
    check_session(database, "a copy", 2, 1480);
    check_session(database, "talk", 4, 67);
    Library library(database);
    REQUIRE(library.list().size() == 1);
    const DocumentInfo book = library.list()[0];
    CHECK(book.title == "book");
    CHECK(library.verify(book.id) == 1442);
    CHECK(book.source_bytes == -1);
    CHECK(book.source_hash == 0);
    CHECK(library.text_block(book.id, 0).size() == 2000);
}

} // namespace

TEST_CASE("a database of schema 1 is brought to the newest, with all it holds")
{
    const Sample sample;
    {
        SQLite::Database before(sample.file().string(), SQLite::OPEN_READWRITE);
        before.exec("INSERT INTO pins(session, first, last) VALUES(1, 3, 9)");
    }
    Database database(sample.file(), Database::Access::Write);
    CHECK(version_of(database.sql()) == schema_version);
    check_content(database);
    const auto pins = Conversations(database).pins(1);
    REQUIRE(pins.size() == 1);
    CHECK(pins[0].first == 3);
    CHECK(pins[0].last == 9);
    CHECK(pins[0].since == 0);
    CHECK(pins[0].label.empty());
}

TEST_CASE("a reader reads an older database as it is, and an older export is taken in")
{
    const Sample sample;
    {
        Database reader(sample.file(), Database::Access::Read);
        check_content(reader);
        CHECK(Conversations(reader).pins(1).empty());
        CHECK(version_of(reader.sql()) == 1);
    }
    {
        SQLite::Database one(sample.file().string(), SQLite::OPEN_READWRITE);
        one.exec("PRAGMA foreign_keys = ON; INSERT INTO pins(session, first, last) VALUES(1, 3, 9);"
                 "DELETE FROM sessions WHERE name <> 'book'");
    }
    tests::ScratchDatabase newest;
    CHECK(import_session(*newest, sample.file(), "") == "book");
    check_session(*newest, "book", 2, 1480);
    CHECK(Library(*newest).list().at(0).source_bytes == -1);
    REQUIRE(Conversations(*newest).pins(Conversations(*newest).get("book").id).size() == 1);
}
