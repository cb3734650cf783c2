// Rescuing what can be read of a damaged database: what is rescued is as it was, what is not is told, and the
// damaged database is set aside.
#include "storage/rescue.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>
#include <sys/resource.h>

#include "storage/document_blocks.h"
#include "storage/hash.h"
#include "storage/interrupted.h"
#include "storage/packing.h"
#include "storage/page_check.h"
#include "storage/readable_copy.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/damaged_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using namespace palimpsest::tests;
namespace fs = std::filesystem;

namespace {

bool tells(const Rescued& rescued, const std::string& session, LostPart part)
{
    return std::any_of(rescued.losses.begin(), rescued.losses.end(),
                       [&](const Loss& loss) { return loss.session == session && loss.part == part; });
}

// Alters a table and leaves an index as it is, as damage does.
void alter_without_index(const std::string& index, const std::string& sql)
{
    three().put(three().original);
    std::string entry;
    {
        SQLite::Database raw(three().database().string(), SQLite::OPEN_READWRITE);
        SQLite::Statement query(raw, "SELECT printf('INSERT INTO sqlite_schema VALUES(%Q, %Q, %Q, %d, %Q)', type, "
                                     "name, tbl_name, rootpage, sql) FROM sqlite_schema WHERE name = ?");
        query.bind(1, index);
        REQUIRE(query.executeStep());
        entry = query.getColumn(0).getString();
        query.reset();
        raw.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '" + index + "'");
    }
    alter(three().database(), "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON; " + sql + "; " + entry);
}

uint64_t told(const Rescued& rescued, LostPart part)
{
    uint64_t sum = 0;
    for (const Loss& loss : rescued.losses)
        sum += loss.part == part ? loss.count : 0;
    return sum;
}

int64_t root_page(const std::string& table)
{
    three().put(three().original);
    SQLite::Database raw(three().database().string(), SQLite::OPEN_READONLY);
    SQLite::Statement query(raw, "SELECT rootpage FROM sqlite_schema WHERE name = ?");
    query.bind(1, table);
    REQUIRE(query.executeStep());
    return query.getColumn(0).getInt64();
}

// A number of a database file: big-endian.
size_t number_at(const std::string& bytes, size_t at, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < count; ++i)
        number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
    return number;
}

} // namespace

TEST_CASE("a database without damage is rescued whole, and set aside byte for byte")
{
    three().put(three().original);
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.losses.empty());
    CHECK(rescued.sessions == 3);
    CHECK(rescued.documents == 3);
    CHECK(rescued.messages == 6);
    CHECK(bytes_of_file(rescued.aside) == three().original);
    const Content found = Content::of(three().database()), &original = three().content;
    CHECK(found.sessions == original.sessions);
    CHECK(found.messages == original.messages);
    CHECK(found.documents == original.documents);
    CHECK(found.states == original.states);
    CHECK(found.pins == original.pins);
    CHECK(found.settings == original.settings);
    CHECK(check_integrity(three().database()));
}

TEST_CASE("a database without damage is only replaced if that is asked for")
{
    three().put(three().original);
    const auto before = files();
    for (const RescueMode mode : {RescueMode::ReplaceDamaged, RescueMode::TryOnly}) {
        const Rescued rescued = rescue(three().database(), mode);
        CHECK_FALSE(rescued.is_damaged);
        CHECK(rescued.aside.empty());
        CHECK(bytes_of_file(three().database()) == three().original);
        CHECK(files() == before);
    }
    CHECK_FALSE(rescue(three().database(), RescueMode::Replace).aside.empty());

    const auto is_replaced = [](const std::string& bytes) {
        three().put(bytes);
        const Rescued rescued = rescue(three().database(), RescueMode::ReplaceDamaged);
        return rescued.is_damaged && bytes_of_file(rescued.aside) == bytes;
    };
    std::string without_first_page = three().original;
    without_first_page.replace(0, 8192, std::string(8192, '\0'));
    CHECK(is_replaced(without_first_page));
    CHECK(is_replaced(damaged_by("UPDATE messages SET text = 'x' WHERE id = 1")));
    CHECK(is_replaced(damaged_by("UPDATE passage_texts_config SET v = 99 WHERE k = 'version'")));
    CHECK(is_replaced(damaged_by("PRAGMA foreign_keys = OFF; DELETE FROM documents WHERE id = 2")));
    std::string without_index = three().original;
    without_index.replace(static_cast<size_t>(root_page("messages_of_session") - 1) * 8192, 8192,
                          std::string(8192, '\0'));
    CHECK(is_replaced(without_index));
}

TEST_CASE("notes of the reader are rescued with their document, and dropped without loss if they are damaged")
{
    const std::string notes =
        "INSERT INTO document_blocks SELECT document, 4, 0, raw, hash + %, data FROM document_blocks "
        "WHERE document = 1 AND kind = 2 AND idx = 0";
    for (const int damage : {0, 1}) {
        damaged_by(std::string(notes).replace(notes.find('%'), 1, std::to_string(damage)));
        CHECK(rescue(three().database(), RescueMode::Replace).losses.empty());
        Database rescued(three().database(), Database::Access::Read);
        CHECK(rescued.sql().execAndGet("SELECT count(*) FROM document_blocks WHERE kind = 4").getInt() ==
              1 - damage);
        CHECK_NOTHROW(Library(rescued).verify(1));
    }
}

TEST_CASE("what is lost is kept in a file beside the damaged database")
{
    damaged_by("UPDATE messages SET text = 'x' WHERE session = 1 AND role = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.report == fs::path(rescued.aside).replace_extension(".txt"));
    const std::string report = bytes_of_file(rescued.report);
    CHECK(report.find(three().database().string()) != std::string::npos);
    CHECK(report.find("\nsession 'first': 1 message is lost\n") != std::string::npos);
    CHECK((fs::status(rescued.report).permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::owner_write));

    // The names of the next one are free, and without losses there is no report.
    fs::rename(rescued.aside, three().folder() / "palimpsest-moved.db");
    const Rescued again = rescue(three().database(), RescueMode::Replace);
    CHECK(again.aside.stem() != rescued.aside.stem());
    three().put(three().original);
    CHECK(rescue(three().database(), RescueMode::Replace).report.empty());
}

TEST_CASE("trying to rescue changes nothing and tells what would be lost")
{
    const std::string before = damaged_by("UPDATE messages SET text = 'x' WHERE session = 1 AND role = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::TryOnly);
    CHECK(rescued.aside.empty());
    CHECK(tells(rescued, "first", LostPart::Message));
    CHECK(bytes_of_file(three().database()) == before);
}

TEST_CASE("rescuing leaves the files of others alone, and none of its own")
{
    three().put(three().original);
    const std::string own = three().database().string();
    const fs::path folder = own + ".rescue-abcdef";
    fs::create_directory(folder);
    for (const fs::path& file : {fs::path(own + ".damaged"), fs::path(own + ".rescuing"), folder / "mine.txt"})
        write_file(file, "of the user");
    const auto before = files();
    rescue(three().database(), RescueMode::TryOnly);
    CHECK(files() == before);
    write_file(own + ".lock", "");
    rescue(three().database(), RescueMode::TryOnly);
    CHECK(fs::file_size(own + ".lock") == 0); // nothing to check at the next start
    CHECK(bytes_of_file(own + ".damaged") == "of the user");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    auto after = files();
    after.erase("palimpsest.db.lock");
    after.erase(rescued.aside.filename().string());
    CHECK(after == before);
}

TEST_CASE("a message that does not match its checksum keeps its place without its text")
{
    damaged_by("UPDATE messages SET text = 'something else' WHERE session = 1 AND role = 1");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "first", LostPart::Message));
    CHECK(tells(rescued, "first", LostPart::Stream));
    CHECK_FALSE(tells(rescued, "second", LostPart::Message));
    const auto store = open_store(three().database().string(), Database::Access::Write);
    const auto messages = store->conversations.messages(store->conversations.get("first").id);
    REQUIRE(messages.size() == 2);
    CHECK_FALSE(messages[0].damaged);
    CHECK(messages[1].damaged);
    CHECK(messages[1].text.empty());
    check_genuine(Content::of(*store), three().content);
}

TEST_CASE("a message that is gone leaves an empty one in its place")
{
    damaged_by("PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE session = 2 AND role = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "second", LostPart::Message));
    const auto store = open_store(three().database().string(), Database::Access::Write);
    const auto messages = store->conversations.messages(store->conversations.get("second").id);
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].damaged);
    CHECK(messages[0].role == Role::User);
    CHECK(messages[0].text.empty());
    CHECK_FALSE(messages[1].damaged);
}

TEST_CASE("a damaged cache is left out, and the session can be read again")
{
    damaged_by(
        "UPDATE blocks SET data = zeroblob(length(data)) WHERE id IN (SELECT block FROM snapshot_blocks JOIN "
        "snapshots ON snapshots.id = snapshot WHERE session = 2)");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "second", LostPart::Cache));
    CHECK_FALSE(tells(rescued, "second", LostPart::Stream));
    const Content found = Content::of(three().database());
    CHECK(found.states.count(2) == 0);
    CHECK(found.messages == three().content.messages);
    CHECK(found.documents == three().content.documents);
}

TEST_CASE("a document with a damaged block is never shown as genuine")
{
    damaged_by("UPDATE document_blocks SET data = zeroblob(length(data)) WHERE document = 3 AND kind = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "third", LostPart::DocumentText));
    {
        const auto store = open_store(three().database().string(), Database::Access::Read);
        CHECK(refusal([&] { store->library.text_block(3, 0); }) == "PAL-DOC-05");
    }
    const Content found = Content::of(three().database());
    CHECK(found.documents.count(3) == 0);
    CHECK(found.states.at(3) == three().content.states.at(3)); // it can be continued from its cache
}

TEST_CASE("of a document whose tokens are damaged the text is left")
{
    damaged_by("DELETE FROM document_blocks WHERE document = 1 AND kind = 1");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "first", LostPart::DocumentTokens));
    const auto store = open_store(three().database().string(), Database::Access::Read);
    CHECK(store->library.text(1, 0, 1 << 20) == three().content.documents.at(1));
}

TEST_CASE("rows that claim one place are all left out")
{
    const auto claim = [](const char* sql) {
        // Without the index that would refuse it, as damage does not ask.
        damaged_by("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name LIKE "
                   "'sqlite_autoindex_document_b%'; "
                   "UPDATE sqlite_schema SET sql = replace(sql, 'PRIMARY KEY(document, kind, idx)', 'CHECK(1)') "
                   "WHERE name = 'document_blocks'");
        alter(three().database(), sql);
    };
    claim("UPDATE document_blocks SET document = 2 WHERE kind = 0");
    rescue(three().database(), RescueMode::Replace);
    CHECK(Content::of(three().database()).documents.empty());

    claim("UPDATE document_blocks SET document = 2 WHERE document = 1 AND kind = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    const Content found = Content::of(three().database());
    check_genuine(found, three().content);
    CHECK(found.documents.count(1) == 0);
    CHECK(found.documents.count(2) == 0);
    CHECK(found.documents.at(3) == three().content.documents.at(3));
    CHECK(tells(rescued, "first", LostPart::DocumentText));
    CHECK(tells(rescued, "second", LostPart::DocumentText));
}

TEST_CASE("a session whose row is gone is kept with its texts, and not continued with other settings")
{
    damaged_by("PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE id = 2");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "session-2", LostPart::SessionSettings));
    const Content found = Content::of(three().database());
    CHECK(found.messages == three().content.messages);
    CHECK(found.documents == three().content.documents);
}

TEST_CASE("a part of the stream that is missing keeps the session from being continued")
{
    damaged_by("DELETE FROM stream WHERE session = 1 AND idx = 1");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "first", LostPart::Stream));
    CHECK(Content::of(three().database()).states.count(1) == 0);
}

TEST_CASE("without its first page, a database is read with the tables of this version")
{
    std::string bytes = three().original;
    bytes.replace(0, 8192, std::string(8192, '\0'));
    three().put(bytes);
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.losses.empty());
    CHECK(bytes_of_file(rescued.aside) == bytes);
    const Content found = Content::of(three().database());
    CHECK(found.messages == three().content.messages);
    CHECK(found.documents == three().content.documents);
    CHECK(found.states == three().content.states);
}

TEST_CASE("of a file that is no database nothing is rescued, and the program can start if there are backups")
{
    fs::remove_all(three().folder() / "backups"); // those of the sessions
    for (const std::string& bytes : {std::string(100000, 'x'), std::string("short"), std::string()}) {
        three().put(bytes);
        CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-02");
        CHECK(bytes_of_file(three().database()) == bytes);
        fs::create_directory(three().folder() / "backups");
        write_file(three().folder() / "backups/palimpsest-daily-2026-01-01.db", "a backup");
        const Rescued rescued = rescue(three().database(), RescueMode::Replace);
        CHECK(rescued.sessions == 0);
        CHECK(bytes_of_file(rescued.aside) == bytes);
        CHECK(Content::of(three().database()).sessions.empty());
        fs::remove_all(three().folder() / "backups");
    }
}

TEST_CASE("a database of another program or of a newer version is not replaced")
{
    three().put({});
    alter(three().database(), "CREATE TABLE t(url TEXT); INSERT INTO t VALUES('https://example.org')");
    const std::string other = bytes_of_file(three().database());
    const auto before = files();
    CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-02");
    CHECK(bytes_of_file(three().database()) == other);
    CHECK(files() == before);

    // Nor is what it has in a folder with the name and the files of a rescue.
    const fs::path folder = three().database().string() + ".rescue-abcdef";
    fs::create_directory(folder);
    write_file(folder / "made.db", "of the other");
    CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-02");
    CHECK(bytes_of_file(folder / "made.db") == "of the other");

    const std::string newer = damaged_by("CREATE TABLE later(a TEXT); ALTER TABLE messages ADD COLUMN mood TEXT; "
                                         "PRAGMA user_version = 99");
    CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-05");
    CHECK(bytes_of_file(three().database()) == newer);
}

TEST_CASE("a link to a database, or one that others can write, is not rescued")
{
    three().put(three().original);
    const fs::path link = three().folder() / "palimpsest-link.db";
    fs::create_symlink(three().database(), link);
    CHECK(refusal([&] { rescue(link, RescueMode::Replace); }) == "PAL-DB-01");
    CHECK(fs::is_symlink(link));
    fs::permissions(three().database(), fs::perms(0666));
    CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-01");
}

TEST_CASE("damage to the first page is called damage")
{
    const auto code = [](size_t at, char byte) {
        std::string bytes = three().original;
        bytes[at] = byte;
        three().put(bytes);
        std::string refused = refusal([&] { Content::of(three().database()); });
        CHECK(bytes_of_file(three().database()) == bytes);
        three().put(bytes);
        CHECK(rescue(three().database(), RescueMode::Replace).messages == 6);
        CHECK(Content::of(three().database()).messages == three().content.messages);
        return refused;
    };
    CHECK(code(3, 1) == "PAL-DB-03");   // "SQLite format 3"
    CHECK(code(18, 7) == "PAL-DB-03");  // version for writing
    CHECK(code(47, 99) == "PAL-DB-03"); // schema format
    CHECK(code(68, 1) == "PAL-DB-03");  // application_id
    CHECK(code(63, 99) == "PAL-DB-03"); // user_version
    CHECK(code(63, 7) == "PAL-DB-03");  // another one
    CHECK(code(three().original.find("CREATE TABLE pins") + 8, '!') == "PAL-DB-03");
    CHECK(code(three().original.find("stream indices"), '!') == "PAL-DB-03"); // a comment of this table
}

TEST_CASE("a damaged search index is called damage, and is made again")
{
    three().put(three().original);
    alter(three().database(), "UPDATE passage_texts_config SET v = 99 WHERE k = 'version'");
    CHECK(refusal([&] {
              const auto store = open_store(three().database().string(), Database::Access::Write);
              store->database.guarded([&] {
                  store->database.statement("SELECT rowid FROM passage_texts WHERE passage_texts MATCH 'light'")
                      .executeStep();
              });
          }) == "PAL-DB-03");
    CHECK(rescue(three().database(), RescueMode::Replace).losses.empty());
    CHECK(Content::of(three().database()).messages == three().content.messages);
}

TEST_CASE("a journal is kept with the database that it belongs to")
{
    three().put(three().original);
    write_file(three().database().string() + "-journal", "a journal");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(bytes_of_file(rescued.aside.string() + "-journal") == "a journal");
    CHECK_FALSE(fs::exists(three().database().string() + "-journal"));
}

TEST_CASE("a message that names another session is given back, or not shown")
{
    alter_without_index("messages_of_session", "UPDATE messages SET session = 2 WHERE id = 5");
    Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.losses.empty());
    CHECK(Content::of(three().database()).messages == three().content.messages);

    // The index and the answer that follows agree.
    const std::string without_place =
        "UPDATE messages SET session = 2 WHERE id = 5; DELETE FROM stream WHERE message = 5";
    alter_without_index("messages_of_session", without_place);
    rescue(three().database(), RescueMode::Replace);
    CHECK(Content::of(three().database()).messages == three().content.messages);

    // Nothing agrees with the index.
    alter_without_index("messages_of_session", without_place + "; UPDATE messages SET parent = NULL WHERE id = 6");
    rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "third", LostPart::Message));
    const Content found = Content::of(three().database());
    check_genuine(found, three().content);
    CHECK(found.messages.count(5) == 0);
    CHECK(found.messages.size() == 5);
}

TEST_CASE("a message with the role of the other is not shown")
{
    damaged_by("UPDATE messages SET role = 1 WHERE id = 3");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "second", LostPart::Message));
    const Content found = Content::of(three().database());
    check_genuine(found, three().content);
    CHECK(found.messages.size() == 5);
}

TEST_CASE("another document does not pass as the one that a session read")
{
    for (const char* sql : {"UPDATE stream SET document = 2 WHERE document = 1",
                            "UPDATE stream SET document = 2, tokens = 1 WHERE document = 1"}) {
        alter_without_index("stream_of_document", sql);
        const Rescued rescued = rescue(three().database(), RescueMode::Replace);
        CHECK(tells(rescued, "first", LostPart::Stream));
        const Content found = Content::of(three().database());
        check_genuine(found, three().content);
        CHECK(found.documents == three().content.documents);
    }
}

TEST_CASE("a block of another document is not taken for one of this")
{
    damaged_by("UPDATE document_blocks SET document = 1, idx = 1 WHERE document = 3 AND kind = 0");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK_FALSE(tells(rescued, "first", LostPart::DocumentText));
    CHECK(tells(rescued, "third", LostPart::DocumentText));
    const Content found = Content::of(three().database());
    check_genuine(found, three().content);
    CHECK(found.documents.at(1) == three().content.documents.at(1));
    CHECK_FALSE(found.documents.contains(3));
    const auto store = open_store(three().database().string(), Database::Access::Read);
    CHECK(store->library.text_block(1, 1).empty());
}

TEST_CASE("the size of a document in its entry is corrected if its blocks fit each other")
{
    damaged_by("UPDATE documents SET bytes = bytes + 1, tokens = 1 WHERE id = 2");
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.losses.empty());
    CHECK(Content::of(three().database()).documents == three().content.documents);
}

TEST_CASE("a session whose number was altered keeps its texts and its settings")
{
    damaged_by("PRAGMA foreign_keys = OFF; UPDATE sessions SET id = 67 WHERE id = 3");
    // The index has the new number, too: the name is taken, so the texts are kept under another one.
    Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(tells(rescued, "session-3", LostPart::SessionSettings));
    CHECK(Content::of(three().database()).messages == three().content.messages);

    // The cell of the last session begins with the size of its content, then its rowid.
    std::string bytes = three().original;
    const size_t page = static_cast<size_t>(root_page("sessions") - 1) * 8192;
    const size_t cell = page + number_at(bytes, page + 8 + 4, 2);
    const size_t row = static_cast<unsigned char>(bytes[cell]) < 0x80 ? cell + 1 : cell + 2;
    REQUIRE(bytes[row] == 3);
    bytes[row] = 67;
    three().put(bytes);
    rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(rescued.losses.empty());
    const Content found = Content::of(three().database());
    CHECK(found.sessions == three().content.sessions);
    CHECK(found.messages == three().content.messages);
}

TEST_CASE("rescuing what was rescued loses nothing more")
{
    for (const char* sql : {"DELETE FROM stream WHERE session = 3 AND idx = 0",
                            "PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE id = 3",
                            "DELETE FROM stream WHERE session = 1 AND document NOT NULL"}) {
        damaged_by(sql);
        rescue(three().database(), RescueMode::Replace);
        const Content once = Content::of(three().database());
        rescue(three().database(), RescueMode::Replace);
        const Content twice = Content::of(three().database());
        CHECK(once.messages == twice.messages);
        CHECK(once.said == twice.said);
        CHECK(once.read == twice.read);
        CHECK(once.documents == twice.documents);
    }
}

TEST_CASE("what an earlier rescue has lost is not damage")
{
    for (const char* sql :
         {"DELETE FROM stream WHERE session = 3 AND idx = 0",
          "UPDATE messages SET text = 'x' WHERE session = 1 AND role = 0",
          "PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE id = 3",
          "PRAGMA foreign_keys = OFF; DELETE FROM sessions WHERE id = 2",
          "PRAGMA foreign_keys = OFF; DELETE FROM documents WHERE id = 2",
          "DELETE FROM stream WHERE session = 1 AND document NOT NULL",
          "DELETE FROM document_blocks WHERE document = 1 AND kind = 0",
          "DELETE FROM document_blocks WHERE document = 1 AND kind = 1",
          "DELETE FROM document_blocks WHERE document = 1 AND kind = 2",
          "UPDATE document_blocks SET data = x'00' WHERE document = 2",
          "UPDATE pins SET last = 1000000 WHERE session = 3", "UPDATE blocks SET data = zeroblob(length(data))"}) {
        INFO(sql);
        damaged_by(sql);
        const Rescued first = rescue(three().database(), RescueMode::ReplaceDamaged);
        REQUIRE(first.is_damaged);
        const std::string report = bytes_of_file(first.report), rescued = bytes_of_file(three().database());
        const Content once = Content::of(three().database());
        const Rescued second = rescue(three().database(), RescueMode::ReplaceDamaged);
        CHECK_FALSE(second.is_damaged);
        CHECK(second.losses.empty());
        CHECK(bytes_of_file(first.report) == report);
        rescue(three().database(), RescueMode::Replace);
        const Content twice = Content::of(three().database());
        CHECK(once.messages == twice.messages);
        CHECK(once.said == twice.said);
        CHECK(once.read == twice.read);
        CHECK(once.documents == twice.documents);
        CHECK(once.states == twice.states);
    }
}

TEST_CASE("damage after a rescue is told, and what the rescue had lost is not")
{
    damaged_by("UPDATE messages SET text = 'x' WHERE session = 1 AND role = 0");
    rescue(three().database(), RescueMode::Replace);
    alter(three().database(), "UPDATE messages SET text = 'y' WHERE session = 1 AND role = 1");
    Rescued again = rescue(three().database(), RescueMode::Replace);
    CHECK(told(again, LostPart::Message) == 1);
    CHECK(tells(again, "first", LostPart::Stream));
    alter(three().database(),
          "DELETE FROM stream WHERE session = 1 AND idx = (SELECT max(idx) FROM stream WHERE session = 1)");
    again = rescue(three().database(), RescueMode::ReplaceDamaged);
    CHECK_FALSE(again.is_damaged); // nothing tells that it was longer
    alter(three().database(), "UPDATE document_blocks SET data = x'00' WHERE document = 1 AND kind = 0");
    again = rescue(three().database(), RescueMode::ReplaceDamaged);
    CHECK(tells(again, "first", LostPart::DocumentText));
    CHECK(again.losses.size() == 1);
}

TEST_CASE("blocks that are lost behind one that a rescue made are told, once")
{
    constexpr const char* delete_block = "DELETE FROM document_blocks WHERE document = 1 AND kind = 0 AND idx = ";
    three().put(three().original);
    {
        const std::string text(text_block_bytes, 'x');
        const auto raw = std::as_bytes(std::span(text));
        const std::vector<std::byte> packed = pack(raw);
        SQLite::Database db(three().database().string(), SQLite::OPEN_READWRITE);
        for (int index = 0; index < 5; ++index) {
            SQLite::Statement insert(db,
                                     "INSERT OR REPLACE INTO document_blocks(document, kind, idx, raw, hash, data) "
                                     "VALUES(1, 0, ?, ?, ?, ?)");
            insert.bind(1, index);
            insert.bind(2, static_cast<int64_t>(raw.size()));
            insert.bind(3, hash64(raw));
            insert.bind(4, packed.data(), static_cast<int>(packed.size()));
            insert.exec();
        }
        db.exec("UPDATE documents SET bytes = " + std::to_string(5 * text_block_bytes) + " WHERE id = 1");
    }
    const auto is_told = [&] {
        const Rescued rescued = rescue(three().database(), RescueMode::ReplaceDamaged);
        CHECK(rescued.is_damaged == !rescued.losses.empty());
        return tells(rescued, "first", LostPart::DocumentText);
    };
    REQUIRE_FALSE(is_told());
    alter(three().database(), std::string(delete_block) + "2");
    CHECK(is_told());
    alter(three().database(), std::string(delete_block) + "3");
    CHECK(is_told());
    alter(three().database(), std::string(delete_block) + "4");
    CHECK(is_told());
    CHECK_FALSE(is_told());
    alter(three().database(), std::string(delete_block) + "1 OR idx > 1 AND document = 1 AND kind = 0");
    CHECK(is_told()); // one block is made for all that are lost at the end
    CHECK_FALSE(is_told());
    alter(three().database(), std::string(delete_block) + "0");
    CHECK(is_told());
    CHECK_FALSE(is_told());
}

TEST_CASE("a pin beyond the text is no damage if an older version may have set it")
{
    damaged_by("INSERT INTO pins(session, first, last, since, label) VALUES(3, 999999, 1000001, 0, '')");
    const Rescued whole = rescue(three().database(), RescueMode::ReplaceDamaged);
    CHECK_FALSE(whole.is_damaged);
    CHECK(whole.losses.empty());
    for (const char* range :
         {"last = 1000000", "last = first", "first = -1", "first = 9999999998, last = 9999999999"}) {
        damaged_by(std::string("UPDATE pins SET ") + range + " WHERE session = 3");
        CHECK(tells(rescue(three().database(), RescueMode::Replace), "third", LostPart::Pin));
    }
}

TEST_CASE("a pin behind a stream whose end is lost is lost with it: other tokens will stand there")
{
    damaged_by(
        "UPDATE pins SET last = (SELECT sum(tokens) FROM stream WHERE session = 3), first = (SELECT sum(tokens) "
        "FROM stream WHERE session = 3) - 1 WHERE session = 3");
    CHECK_FALSE(tells(rescue(three().database(), RescueMode::Replace), "third", LostPart::Pin));
    alter(three().database(), "DELETE FROM stream WHERE session = 3 AND idx = (SELECT max(idx) FROM stream WHERE "
                              "session = 3 AND document IS NOT NULL)");
    CHECK(tells(rescue(three().database(), RescueMode::Replace), "third", LostPart::Pin));
}

TEST_CASE("a block of lengths behind the end leaves those before it")
{
    damaged_by(
        "INSERT INTO document_blocks(document, kind, idx, raw, hash, data) SELECT 1, 2, 7, raw, hash, data FROM "
        "document_blocks WHERE document = 1 AND kind = 2 AND idx = 0");
    rescue(three().database(), RescueMode::ReplaceDamaged);
    CHECK(
        SQLite::Database(three().database().string())
            .execAndGet("SELECT count(*) FROM document_blocks WHERE document = 1 AND kind = 2 AND length(data) > 0 "
                        "AND idx = 0")
            .getInt() == 1);
}

TEST_CASE("rows without a checksum that are lost are told")
{
    std::string bytes = three().original;
    bytes.replace(static_cast<size_t>(root_page("made_here") - 1) * 8192, 8192, std::string(8192, '\0'));
    three().put(bytes);
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    REQUIRE(rescued.losses.size() == 1);
    CHECK(rescued.losses[0].part == LostPart::Details);
    CHECK(rescued.losses[0].name == "made_here");
}

TEST_CASE("blocks that only a removed state used are removed")
{
    damaged_by("DELETE FROM stream WHERE session = 1 AND idx = 1");
    rescue(three().database(), RescueMode::Replace);
    SQLite::Database raw(three().database().string(), SQLite::OPEN_READONLY);
    CHECK(raw.execAndGet("SELECT count(*) FROM blocks WHERE id NOT IN (SELECT block FROM snapshot_blocks)")
              .getInt() == 0);
    CHECK(raw.execAndGet("SELECT count(*) FROM snapshot_blocks WHERE snapshot NOT IN (SELECT id FROM snapshots)")
              .getInt() == 0);
}

namespace {

// While it lives, no file can become larger.
class FileLimit {
public:
    explicit FileLimit(rlim_t bytes)
    {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("a rescue that cannot write its files names the database, and changes nothing")
{
    three().put(three().original);
    const auto before = files();
    const rlim_t whole = three().original.size();
    size_t refused = 0;
    for (rlim_t limit = 0; limit <= whole; limit += whole / 16) {
        Text subject;
        try {
            const FileLimit none(limit);
            rescue(three().database(), RescueMode::TryOnly);
        } catch (const Error& error) {
            ++refused;
            CHECK(error.subject() == Text::escaped(three().database().string()));
            CHECK(error.text().english().find(".rescue-") == std::string::npos);
        }
        CHECK(bytes_of_file(three().database()) == three().original);
        CHECK(files() == before);
    }
    CHECK(refused > 10);
}

TEST_CASE("a version number that was altered counts as damage")
{
    std::string bytes = three().original;
    bytes[63] = 99;
    three().put(bytes);
    const Rescued rescued = rescue(three().database(), RescueMode::ReplaceDamaged);
    CHECK(rescued.is_damaged);
    CHECK(rescued.losses.empty());
    CHECK(Content::of(three().database()).messages == three().content.messages);
}

TEST_CASE("a piece of a file that cannot be read becomes zeros in its copy, and a full disk is told")
{
    const fs::path copy = three().folder() / "palimpsest-copy";
    const std::string original = std::string(8192, 'a') + std::string(8192, 'b') + std::string(100, 'c');
    const ReadAt read = [&](std::span<char> to, uint64_t place) -> ssize_t {
        if (place >= 8192 && place < 16384) {
            errno = EIO;
            return -1;
        }
        const size_t count = std::min<size_t>(to.size(), 1000); // a short read
        std::copy_n(original.data() + place, count, to.data());
        return static_cast<ssize_t>(count);
    };
    copy_readable(read, original.size(), copy, [] {});
    CHECK((bytes_of_file(copy) == std::string(8192, 'a') + std::string(8192, '\0') + std::string(100, 'c')));
    CHECK(refusal([&] { copy_readable(read, original.size(), "/dev/full", [] {}); }) == "PAL-DISK-01");
}

namespace {

// Many messages of one session, in many pages.
class LongSession {
public:
    static constexpr size_t messages = 3000;

    LongSession()
    {
        damaged_by("INSERT INTO messages(session, parent, role, state, text, ids, hash, created_ms) "
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                   "SELECT 2, NULL, role, state, text, ids, hash, created_ms FROM n, messages WHERE id = 3");
        bytes = bytes_of_file(three().database());
        const size_t root = page_at(static_cast<size_t>(root_page("messages")));
        REQUIRE(bytes[root] == 5); // an interior page of a table
        for (size_t i = 0; i < number_at(bytes, root + 3, 2); ++i)
            leaves.push_back(number_at(bytes, root + number_at(bytes, root + 12 + 2 * i, 2), 4));
        leaves.push_back(number_at(bytes, root + 8, 4));
        REQUIRE(leaves.size() > 10);
    }
    static size_t page_at(size_t page) { return (page - 1) * 8192; }
    size_t rows_in(size_t leaf) const { return number_at(bytes, page_at(leaf) + 3, 2); }
    // Returns how many messages are lost.
    static size_t lost_of(const std::string& damaged)
    {
        three().put(damaged);
        const Rescued rescued = rescue(three().database(), RescueMode::Replace);
        const size_t lost = messages + 6 - rescued.messages;
        CHECK(told(rescued, LostPart::Message) == lost);
        const Content found = Content::of(three().database());
        for (const auto& [id, message] : found.messages)
            CHECK(message == (id > 6 ? three().content.messages.at(3) : three().content.messages.at(id)));
        return lost;
    }

    std::string bytes;
    std::vector<size_t> leaves;
};

} // namespace

TEST_CASE("a rowid that was altered loses no other row")
{
    const LongSession scene;
    CHECK(LongSession::lost_of(scene.bytes) == 0);
    const size_t leaf = LongSession::page_at(scene.leaves[8]); // its rowids take two bytes
    size_t at = leaf + number_at(scene.bytes, leaf + 8, 2);
    while (static_cast<unsigned char>(scene.bytes[at]) >= 0x80)
        ++at; // the size of the content
    ++at;
    REQUIRE(static_cast<unsigned char>(scene.bytes[at]) >= 0x80);
    for (const char byte : {'\xFF', '\x80'}) { // far too high, and too low
        std::string damaged = scene.bytes;
        damaged[at] = byte;
        CHECK(LongSession::lost_of(damaged) <= 1);
    }
}

TEST_CASE("two pages of a table that are swapped lose no others")
{
    const LongSession scene;
    std::string damaged = scene.bytes;
    const size_t first = scene.leaves[3], second = scene.leaves[8];
    damaged.replace(LongSession::page_at(first), 8192, scene.bytes, LongSession::page_at(second), 8192);
    damaged.replace(LongSession::page_at(second), 8192, scene.bytes, LongSession::page_at(first), 8192);
    CHECK(LongSession::lost_of(damaged) <= scene.rows_in(first) + scene.rows_in(second));
    std::string emptied = scene.bytes;
    emptied.replace(LongSession::page_at(first), 8192, std::string(8192, '\0'));
    CHECK(LongSession::lost_of(emptied) == scene.rows_in(first));
}

TEST_CASE("an interior page of a table that is lost loses no rows below it")
{
    const LongSession scene;
    const size_t root = LongSession::page_at(static_cast<size_t>(root_page("messages")));
    std::string damaged = scene.bytes;
    damaged.replace(root, 8192, std::string(8192, '\0'));
    CHECK(LongSession::lost_of(damaged) == 0);
    const size_t leaf = LongSession::page_at(scene.leaves[5]);
    damaged.replace(leaf, 8192, std::string(8192, '\0'));
    CHECK(LongSession::lost_of(damaged) == scene.rows_in(scene.leaves[5]));
}

TEST_CASE("without the stream and the index of messages, a question and its answer name their session")
{
    std::string bytes = three().original;
    for (const char* lost : {"stream", "messages_of_session"})
        bytes.replace(static_cast<size_t>(root_page(lost) - 1) * 8192, 8192, std::string(8192, '\0'));
    three().put(bytes);
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    CHECK(Content::of(three().database()).messages == three().content.messages);
    CHECK(told(rescued, LostPart::Message) == 0);
    for (const char* session : {"first", "second", "third"})
        CHECK(tells(rescued, session, LostPart::Stream));

    // Neither is shown if they disagree.
    three().put(three().original);
    alter(three().database(), "UPDATE messages SET session = 2 WHERE id = 5");
    bytes = bytes_of_file(three().database());
    for (const char* lost : {"stream", "messages_of_session"})
        bytes.replace(static_cast<size_t>(root_page(lost) - 1) * 8192, 8192, std::string(8192, '\0'));
    three().put(bytes);
    rescue(three().database(), RescueMode::Replace);
    const Content found = Content::of(three().database());
    check_genuine(found, three().content);
    CHECK(found.messages.size() == 4);
}

TEST_CASE("a session whose stream is gone with its index is not taken for a whole one")
{
    std::string bytes = three().original;
    for (const char* lost : {"stream", "sqlite_autoindex_stream_1"})
        bytes.replace(static_cast<size_t>(root_page(lost) - 1) * 8192, 8192, std::string(8192, '\0'));
    three().put(bytes);
    const Rescued rescued = rescue(three().database(), RescueMode::Replace);
    for (const char* session : {"first", "second", "third"})
        CHECK(tells(rescued, session, LostPart::Stream));
    CHECK(Content::of(three().database()).states.empty());
}

TEST_CASE("rows of another table do not pass as those of the one whose page they took")
{
    std::string bytes = three().original;
    const size_t sessions = static_cast<size_t>(root_page("sessions") - 1) * 8192,
                 documents = static_cast<size_t>(root_page("documents") - 1) * 8192;
    bytes.replace(sessions, 8192, three().original, documents, 8192);
    bytes.replace(documents, 8192, three().original, sessions, 8192);
    three().put(bytes);
    rescue(three().database(), RescueMode::Replace);
    const std::unique_ptr<Store> store = open_store(three().database().string(), Database::Access::Read);
    for (const SessionInfo& info : store->conversations.list())
        CHECK((info.name == "first" || info.name == "second" || info.name == "third"));
    for (const DocumentInfo& info : store->library.list())
        CHECK(info.title.starts_with("document-"));
}

TEST_CASE("what cannot be rescued leaves the database as it was")
{
    three().put(three().original);
    {
        const OwnerLock owner(three().database().string() + ".lock", busy_timeout);
        CHECK(refusal([&] { rescue(three().database(), RescueMode::Replace); }) == "PAL-DB-07");
    }
    CHECK_THROWS_AS(rescue(three().database(), RescueMode::Replace, [](int /*percent*/) { return false; }),
                    Interrupted);
    CHECK(bytes_of_file(three().database()) == three().original);
    CHECK(refusal([&] { rescue(three().folder() / "none.db", RescueMode::Replace); }) == "PAL-DB-00");
}
