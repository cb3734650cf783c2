// The database file: who may open it, what it refuses, and what it stores of documents and conversations
// (docs/validation.md, P15, P17, Q1, Q13 and Q15).
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/document_import.h"
#include "storage/hash.h"
#include "storage/library.h"
#include "storage/owner.h"
#include "storage/transfer.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;

namespace {

void write_file(const std::filesystem::path& path, const std::string& content)
{
    std::ofstream(path, std::ios::binary) << content;
}

std::vector<engine::EncodedToken> tokens(size_t count)
{
    std::vector<engine::EncodedToken> all;
    for (size_t i = 0; i < count; ++i)
        all.push_back({.id = static_cast<engine::TokenId>(i % 7919), .begin = i * 3, .end = i * 3 + 3});
    return all;
}

} // namespace

TEST_CASE("only the user can read the database and its folder (Q13)")
{
    ScratchDatabase database;
    struct stat status {};
    REQUIRE(stat(database.file().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    const auto nested = database.file().parent_path() / "a" / "b" / "x.db";
    Database(nested, Database::Access::Write);
    REQUIRE(stat(nested.parent_path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);

    database.close();
    chmod(database.file().c_str(), 0666);
    CHECK(refusal([&] { Database(database.file(), Database::Access::Write); }) == "PAL-DB-01");
}

TEST_CASE("the owner of a database is known at once, and asking does not change its lock (P15)")
{
    ScratchDatabase database;
    CHECK(owner_of(database.file()) == std::to_string(getpid()));
    database.close();
    CHECK_FALSE(owner_of(database.file()));
    CHECK_FALSE(owner_of(database.file().parent_path() / "nothing.db"));
    const std::string lock = database.file().string() + ".lock";
    write_file(lock, "7\n"); // of an owner that was killed
    CHECK_FALSE(owner_of(database.file()));
    CHECK(std::filesystem::file_size(lock) == 2);
}

TEST_CASE("files of other programs are refused and not changed (Q1)")
{
    ScratchDatabase scratch;
    const auto folder = scratch.file().parent_path();
    const auto open = [](const std::filesystem::path& file) {
        return refusal([&] { Database(file, Database::Access::Write); });
    };
    const std::string text(5000, 'x');
    write_file(folder / "text.db", text);
    CHECK(open(folder / "text.db") == "PAL-DB-02");
    std::ifstream in(folder / "text.db");
    CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == text);

    {
        SQLite::Database other((folder / "other.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        other.exec("CREATE TABLE t(x)");
    }
    chmod((folder / "other.db").c_str(), 0600);
    CHECK(open(folder / "other.db") == "PAL-DB-02");

    for (const char* table :
         {"data", "idx", "content", "docsize", "config"}) { // tables of FTS5, which are not compared
        const std::string name = std::string("passage_texts_") + table;
        scratch.close();
        SQLite::Database raw(scratch.file().string(), SQLite::OPEN_READWRITE);
        raw.exec("CREATE TRIGGER " + name + " AFTER INSERT ON documents BEGIN SELECT 1; END");
        CHECK(open(scratch.file()) == "PAL-DB-02");
        raw.exec("DROP TRIGGER " + name);
    }
    scratch.open();
    scratch->sql().exec("CREATE VIEW v AS SELECT * FROM settings");
    scratch.close();
    CHECK(open(scratch.file()) == "PAL-DB-02");
    CHECK(open(folder) == "PAL-DB-01");
}

TEST_CASE("a database of a newer version is read and not written (P17)")
{
    ScratchDatabase scratch;
    Conversations(*scratch).create({.name = "one", .model = "m", .model_name = "m", .options = "{}"});
    scratch->sql().exec("CREATE TABLE later(a TEXT); PRAGMA user_version = 99");
    scratch.close();
    CHECK(refusal([&] { Database(scratch.file(), Database::Access::Write); }) == "PAL-DB-05");
    Database reader(scratch.file(), Database::Access::Read);
    CHECK(Conversations(reader).list().size() == 1);
}

TEST_CASE("readers can open the database while its owner writes")
{
    ScratchDatabase scratch;
    Conversations writer(*scratch);
    Database reading(scratch.file(), Database::Access::Read);
    Conversations reader(reading);
    CHECK(reader.list().empty());
    writer.create({.name = "one", .model = "m", .model_name = "m", .options = "{}"});
    CHECK(reader.list().size() == 1);
    CHECK(refusal([&] { reader.create({.name = "two", .model = "m", .model_name = "m", .options = "{}"}); }) ==
          "PAL-DB-01");
    CHECK(refusal([&] { Database(scratch.file().string() + "x", Database::Access::Read); }) == "PAL-DB-00");
}

TEST_CASE("only documents that no session has read are swept")
{
    ScratchDatabase scratch;
    Library library(*scratch);
    Conversations conversations(*scratch);
    const auto import = [&](const char* title) {
        Import document(*scratch, title, "a.txt", "fingerprint");
        document.add_text("text");
        return document.finish({});
    };
    const int64_t read = import("read"), orphan = import("orphan");
    const int64_t session = conversations.create({.name = "one", .model = "m", .model_name = "m", .options = "{}"});
    conversations.append(session, StreamDocument{.id = read, .tokens = 1});
    library.sweep();
    REQUIRE(library.list().size() == 1);
    CHECK(library.list()[0].id == read);
    CHECK(refusal([&] { library.get(orphan); }) == "PAL-DOC-00");
}

TEST_CASE("hashing pieces gives the hash of the whole")
{
    const std::string text(100000, 'x');
    Hasher64 hasher;
    CHECK(hasher.value() == hash64({}));
    for (size_t at = 0; at < text.size(); at += 777)
        hasher.push(std::as_bytes(std::span(text).subspan(at, std::min<size_t>(777, text.size() - at))));
    CHECK(hasher.value() == hash64(std::as_bytes(std::span(text))));
}

TEST_CASE("stop_growing() marks the growing messages of one session as stopped, and keeps their content")
{
    ScratchDatabase scratch;
    Conversations conversations(*scratch);
    for (const char* name : {"one", "two"}) {
        const int64_t id = conversations.create({.name = name, .model = "m", .model_name = "m", .options = "{}"});
        for (const MessageState state : {MessageState::Growing, MessageState::Cut})
            conversations.add_message(id, {.role = Role::Assistant, .state = state, .text = "so", .ids = {1, 2}});
    }
    const int64_t one = conversations.get("one").id, two = conversations.get("two").id;
    conversations.stop_growing(one);
    const auto stopped = conversations.messages(one);
    CHECK(stopped[0].state == MessageState::Stopped);
    CHECK_FALSE(stopped[0].damaged);
    CHECK(stopped[1].state == MessageState::Cut);
    CHECK(conversations.messages(two)[0].state == MessageState::Growing);
}

TEST_CASE("a document is stored and loaded in pieces of any size")
{
    ScratchDatabase scratch;
    Library library(*scratch);
    const auto all = tokens(150000);
    std::string body;
    for (size_t i = 0; i < 450000; ++i)
        body += static_cast<char>('a' + i % 23);
    int64_t id = 0;
    {
        Import import(*scratch, "A title", "a.txt", "fingerprint");
        for (size_t at = 0; at < body.size(); at += 9999)
            import.add_text(std::string_view(body).substr(at, 9999));
        for (size_t at = 0; at < all.size(); at += 1234)
            import.add_tokens(std::span(all).subspan(at, std::min<size_t>(1234, all.size() - at)));
        import.add_section({.title = "One", .first_token = 5, .first_byte = 15});
        CHECK(library.list().empty());
        id = import.finish({.words = 77, .source_bytes = 450001, .source_hash = -5});
    }
    const DocumentInfo info = library.get(id);
    CHECK(info.title == "A title");
    CHECK(info.bytes == body.size());
    CHECK(info.tokens == all.size());
    CHECK(info.words == 77);
    CHECK(info.source_bytes == 450001);
    CHECK(info.source_hash == -5);
    CHECK(library.list().at(0).source_hash == -5);
    for (const uint64_t first : {0u, 65530u, 131072u, 149999u}) {
        const auto ids = library.ids(id, first, 100);
        REQUIRE(ids.size() == std::min<uint64_t>(100, all.size() - first));
        for (size_t i = 0; i < ids.size(); ++i)
            REQUIRE(ids[i] == all[first + i].id);
    }
    CHECK(library.ids(id, all.size(), 10).empty());
    for (const uint64_t first : {131000u, 0u, 65530u, 65536u, 149999u}) {
        const auto ends = library.token_ends(id, first, 100);
        REQUIRE(ends.size() == std::min<uint64_t>(100, all.size() - first));
        for (size_t i = 0; i < ends.size(); ++i)
            REQUIRE(ends[i] == all[first + i].end);
    }
    CHECK(library.token_ends(id, all.size(), 10).empty());
    CHECK(library.token_ends(id + 1, 0, 10).empty());
    std::string read;
    for (int64_t i = 0;; ++i) {
        const std::string block = library.text_block(id, i);
        if (block.empty()) break;
        read += block;
    }
    CHECK(read == body);
    REQUIRE(library.sections(id).size() == 1);
    CHECK(library.sections(id)[0].title == "One");

    { // an abandoned import leaves nothing
        Import given_up(*scratch, "B", "b.txt", "fingerprint");
        given_up.add_text(body);
    }
    CHECK(scratch->sql().execAndGet("SELECT count(*) FROM documents").getInt() == 1);

    scratch->sql().exec("UPDATE document_blocks SET data = zeroblob(length(data)) WHERE kind = 1 AND idx = 0");
    CHECK(refusal([&] { library.ids(id, 0, 10); }) == "PAL-DOC-05");
    scratch->sql().exec("UPDATE document_blocks SET data = zeroblob(length(data)) WHERE kind = 2 AND idx = 0");
    CHECK(refusal([&] { Library(*scratch).token_ends(id, 10, 10); }) == "PAL-DOC-05");
    CHECK(refusal([&] { library.get(99); }) == "PAL-DOC-00");
}

TEST_CASE("sessions, messages and streams are stored and loaded")
{
    ScratchDatabase scratch;
    Conversations conversations(*scratch);
    const SessionInfo info{.name = "moby", .model = "m", .model_name = "small", .options = "{}"};
    const int64_t id = conversations.create(info);
    CHECK(refusal([&] { conversations.create(info); }) == "PAL-SESSION-02");
    CHECK(refusal([&] { conversations.rename(id, ""); }) == "PAL-SESSION-02");
    CHECK(refusal([&] { conversations.rename(id, std::string(201, 'x')); }) == "PAL-SESSION-02");
    CHECK_THROWS_WITH(conversations.get("mobi"), Catch::Contains("did you mean 'moby'?"));

    Message question{.role = Role::User, .text = "who?", .ids = {4, 5}};
    question.id = conversations.add_message(id, question);
    Message reply{.parent = question.id, .role = Role::Assistant, .state = MessageState::Growing};
    reply.id = conversations.add_message(id, reply);
    conversations.append(id, StreamFraming{.ids = {1, 2}});
    conversations.append(id, StreamMessage{.id = question.id});
    conversations.append(id, StreamMessage{.id = reply.id});
    reply.text = "Ahab";
    reply.ids = {9, 8, 7};
    reply.state = MessageState::Complete;
    conversations.update_message(reply);

    const std::vector<engine::EvictionEvent> faded{{0, 3, 1}, {1, 4, 2}, {1, 9, 2}};
    conversations.append_fade_record(id, std::span(faded).first(2), 10);
    conversations.append_fade_record(id, std::span(faded).last(1), 20);
    const auto same = [](const engine::EvictionEvent& a, const engine::EvictionEvent& b) {
        return a.layer == b.layer && a.token == b.token && a.chunk == b.chunk;
    };
    const auto record = conversations.fade_record(id);
    CHECK(std::equal(record.begin(), record.end(), faded.begin(), faded.end(), same));

    const int64_t copy = conversations.fork(id, "moby again");
    for (const int64_t session : {id, copy}) {
        const auto messages = conversations.messages(session);
        REQUIRE(messages.size() == 2);
        CHECK(messages[1].parent == messages[0].id);
        CHECK(messages[1].text == "Ahab");
        CHECK(messages[1].ids == reply.ids);
        CHECK(messages[1].state == MessageState::Complete);
        CHECK_FALSE(messages[1].damaged);
        const auto stream = conversations.stream(session);
        REQUIRE(stream.size() == 3);
        CHECK(std::get<StreamFraming>(stream[0]).ids == std::vector<engine::TokenId>{1, 2});
        CHECK(std::get<StreamMessage>(stream[1]).id == messages[0].id);
        CHECK(tokens_of(stream[1]) == 2);
        CHECK(tokens_of(stream[2]) == 3); // it has grown since
        CHECK(conversations.fade_record(session).size() == 3);
    }
    conversations.drop_fade_record_after(copy, 10);
    CHECK(conversations.fade_record(copy).size() == 2);
    conversations.remove_messages_from(copy, conversations.messages(copy)[1].id);
    CHECK(conversations.messages(copy).size() == 1);
    CHECK(conversations.stream(copy).size() == 2);

    scratch->sql().exec("UPDATE messages SET text = 'Starbuck' WHERE text = 'Ahab'");
    CHECK(conversations.messages(id)[1].damaged);
    CHECK_FALSE(conversations.messages(id)[0].damaged);

    conversations.remove(id);
    CHECK(conversations.list().size() == 1);
    CHECK(scratch->sql().execAndGet("SELECT count(*) FROM messages").getInt() == 1);
}

TEST_CASE("an exported session of a newer version, or with other tables, is not imported")
{
    ScratchDatabase scratch, other;
    const int64_t id =
        Conversations(*scratch).create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
    const auto file = scratch.file().parent_path() / "export.db";
    export_session(*scratch, id, file);
    const auto imported_after = [&](const char* sql) {
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(sql);
        return refusal([&] { import_session(*other, file, ""); });
    };
    CHECK(imported_after("PRAGMA user_version = 99") == "PAL-DB-05");
    CHECK(imported_after("PRAGMA user_version = 2; ALTER TABLE sessions ADD COLUMN more TEXT") == "PAL-DB-02");
    CHECK(Conversations(*other).list().empty());
}

TEST_CASE("pins are set as a whole, copied with their session and carried to another database")
{
    ScratchDatabase scratch, other;
    Conversations conversations(*scratch);
    const int64_t id = conversations.create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
    const std::vector<Pin> pins{{.first = 40, .last = 42, .since = 100, .label = "the name"},
                                {.first = 3, .last = 9}};
    scratch->sql().exec("INSERT INTO stream(session, idx, tokens, ids) SELECT id, 0, 100, X'' FROM sessions");
    conversations.set_pins(id, std::vector<Pin>{{.first = 1, .last = 2}});
    scratch->transaction([&] { conversations.set_pins(id, pins); });
    const int64_t copy = conversations.fork(id, "copy");
    const auto file = scratch.file().parent_path() / "export.db";
    export_session(*scratch, id, file);
    import_session(*other, file, "");
    const auto check = [&](std::vector<Pin> found) {
        REQUIRE(found.size() == 2);
        CHECK(found[0].first == 3);
        CHECK(found[0].last == 9);
        CHECK(found[0].since == 0);
        CHECK(found[1].first == 40);
        CHECK(found[1].last == 42);
        CHECK(found[1].since == 100);
        CHECK(found[1].label == "the name");
    };
    check(conversations.pins(id));
    check(conversations.pins(copy));
    check(Conversations(*other).pins(Conversations(*other).get("s").id));

    CHECK_THROWS(scratch->transaction([&] {
        conversations.set_pins(id, {});
        throw std::runtime_error("not after all");
    }));
    check(conversations.pins(id));
    conversations.set_pins(id, {});
    CHECK(conversations.pins(id).empty());
    CHECK(conversations.pins(copy).size() == 2);
}

TEST_CASE("deleted text is in no file any more (Q15)")
{
    ScratchDatabase scratch;
    Conversations conversations(*scratch);
    const std::string secret = "the combination is 31-7-19 and nobody must know";
    const int64_t id = conversations.create({.name = "s", .model = "m", .model_name = "m", .options = "{}"});
    conversations.add_message(id, {.role = Role::User, .text = secret});
    conversations.remove(id);
    for (const char* ending : {"", "-wal"}) {
        std::ifstream in(scratch.file().string() + ending, std::ios::binary);
        const std::string bytes(std::istreambuf_iterator<char>(in), {});
        CHECK(bytes.find("31-7-19") == std::string::npos);
    }
}
