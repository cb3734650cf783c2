// Backups, what is checked after an unclean stop, and where a database lies (reliability.md, Q10, Q11, Q14).
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/backup.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/schema.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::sys_days first_day = std::chrono::year(2026) / 11 / 20;

int64_t talk(Database& database, const std::string& name, const std::string& text)
{
    Conversations conversations(database);
    const int64_t id = conversations.create({.name = name, .model = "m", .model_name = "m", .options = "{}"});
    database.transaction([&] {
        const int64_t message = conversations.add_message(id, {.text = text, .ids = {1, 2}});
        conversations.append(id, {.message = message});
        conversations.set_pins(id, std::vector<Pin>{{.first = 1, .last = 2, .label = "l"}});
    });
    return id;
}

std::vector<std::string> names(const fs::path& database)
{
    std::vector<std::string> all;
    for (const fs::directory_entry& entry : fs::directory_iterator(backup_folder(database)))
        all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
}

void back_up_on(ScratchDatabase& scratch, int days_later)
{
    back_up_daily(scratch->sql(), scratch.file(), first_day + std::chrono::days(days_later));
}

// Overwrites the middle of the file, from its second page on.
void damage(const fs::path& file)
{
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(8192);
    const std::string noise(fs::file_size(file) - 8192, '\x5A');
    out.write(noise.data(), static_cast<std::streamsize>(noise.size()));
}

} // namespace

TEST_CASE("Q11: three daily backups are kept and a weekly one, without states")
{
    ScratchDatabase scratch;
    back_up_on(scratch, 0);
    CHECK_FALSE(fs::exists(backup_folder(scratch.file()))); // there is nothing to lose
    const int64_t id = talk(*scratch, "one", "hello");
    scratch->sql().exec("INSERT INTO snapshots(session, complete, tokens_seen, header, hash, bytes, created_ms) "
                        "VALUES(1, 1, 0, x'00', 0, 0, 0); INSERT INTO blocks(hash, raw, seal, data) "
                        "VALUES(x'01', 1, 1, zeroblob(1000000))");
    back_up_on(scratch, 0);
    CHECK(names(scratch.file()) ==
          std::vector<std::string>{"palimpsest-daily-2026-11-20.db", "palimpsest-weekly-2026-11-20.db"});
    const fs::path first = backup_folder(scratch.file()) / "palimpsest-daily-2026-11-20.db";
    CHECK(fs::file_size(first) < 500000);
    CHECK(fs::status(first).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    const auto written = fs::last_write_time(first);
    back_up_on(scratch, 0);
    CHECK(fs::last_write_time(first) == written);
    {
        Database copy(first, Database::Access::Read);
        REQUIRE(Conversations(copy).list().size() == 1);
        CHECK(Conversations(copy).messages(id).at(0).text == "hello");
        CHECK_FALSE(Conversations(copy).messages(id).at(0).damaged);
        CHECK(Conversations(copy).stream(id).size() == 1);
        CHECK(Conversations(copy).pins(id).at(0).label == "l");
        CHECK(copy.sql().execAndGet("SELECT count(*) FROM snapshots").getInt() == 0);
    }
    for (int day = 1; day <= 6; ++day)
        back_up_on(scratch, day);
    CHECK(names(scratch.file()) ==
          std::vector<std::string>{"palimpsest-daily-2026-11-24.db", "palimpsest-daily-2026-11-25.db",
                                   "palimpsest-daily-2026-11-26.db", "palimpsest-weekly-2026-11-20.db"});
    back_up_on(scratch, 7);
    CHECK(names(scratch.file()) ==
          std::vector<std::string>{"palimpsest-daily-2026-11-25.db", "palimpsest-daily-2026-11-26.db",
                                   "palimpsest-daily-2026-11-27.db", "palimpsest-weekly-2026-11-27.db"});
    // A backup can take the database's place.
    scratch.clear();
    fs::copy_file(backups_of(scratch.file()).back(), scratch.file());
    scratch.open();
    CHECK(Conversations(*scratch).get("one").id == id);
    talk(*scratch, "two", "again");

    // What is deleted for good is in no backup either.
    Conversations(*scratch).remove(id);
    CHECK(names(scratch.file()).empty());
}

TEST_CASE("Q10: after an unclean stop the database is checked, and a damaged one names its newest backup")
{
    ScratchDatabase scratch;
    for (int i = 0; i < 40; ++i)
        talk(*scratch, "s" + std::to_string(i), std::string(3000, 'x'));
    back_up_on(scratch, 0);
    scratch.close();

    const std::string whole = [&] {
        std::ifstream in(scratch.file(), std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    CHECK(fs::file_size(scratch.file().string() + ".lock") == 0);
    damage(scratch.file());
    const fs::path lock = scratch.file().string() + ".lock";
    std::ofstream(lock) << "4711\n"; // its owner did not come to let go of it
    try {
        Database(scratch.file(), Database::Access::Write);
        FAIL("it was opened");
    } catch (const Error& error) {
        CHECK(error.code() == "PAL-DB-03");
        CHECK(error.remedy().find("palimpsest-daily-2026-11-20.db") != std::string::npos);
    }
    CHECK(fs::file_size(lock) > 0); // to be checked the next time too

    std::ofstream(scratch.file(), std::ios::binary) << std::string(20000, 'z');
    CHECK(refusal([&] { Database(scratch.file(), Database::Access::Write); }) == "PAL-DB-03"); // it was ours
    std::ofstream(scratch.file(), std::ios::binary) << whole;
    scratch.open();
    CHECK(Conversations(*scratch).list().size() == 40);
    scratch.close();
    CHECK(fs::file_size(lock) == 0);
}

TEST_CASE("Q10: an owner that is killed leaves its lock signed, one that closes does not")
{
    ScratchDatabase scratch;
    scratch.close();
    const fs::path lock = scratch.file().string() + ".lock";
    const pid_t child = fork();
    if (child == 0) {
        const Database database(scratch.file(), Database::Access::Write);
        _exit(0);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    CHECK(fs::file_size(lock) > 0);
    scratch.open();
    scratch.close();
    CHECK(fs::file_size(lock) == 0);
}

TEST_CASE("Q14: on a network file system there is no log, and every commit also flushes the folder")
{
    ScratchDatabase scratch;
    talk(*scratch, "one", "hello");
    CHECK(scratch->place() == Database::Place::Local);
    scratch.close();
    const auto pragma = [](Database& database, const std::string& name) {
        return database.sql().execAndGet("PRAGMA " + name).getString();
    };
    {
        Database far(scratch.file(), Database::Access::Write, Database::Place::Network);
        CHECK(pragma(far, "journal_mode") == "delete");
        CHECK(pragma(far, "synchronous") == "3"); // EXTRA
        CHECK(pragma(far, "locking_mode") == "exclusive");
        CHECK_FALSE(fs::exists(scratch.file().string() + "-wal"));
        CHECK_FALSE(fs::exists(scratch.file().string() + "-shm"));
        talk(far, "two", "hello");
        back_up(far.sql(), backup_folder(scratch.file()) / "palimpsest-daily-2026-11-20.db");
        CHECK_FALSE(fs::exists(scratch.file().string() + "-shm"));
    }
    scratch.open();
    CHECK(pragma(*scratch, "journal_mode") == "wal");
    CHECK(Conversations(*scratch).list().size() == 2);
}
