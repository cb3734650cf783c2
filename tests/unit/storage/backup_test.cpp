// Backups, the check after an unclean stop, and database locations (docs/validation.md, P5, Q10, Q11, Q14 and Q15).
#include <csignal>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/erasure.h"
#include "storage/library.h"
#include "storage/schema.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/failing_disk.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::Fault;
using palimpsest::tests::FaultVfs;
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
        conversations.append(id, StreamMessage{.id = message});
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

// Overwrites the file from its second page on.
void damage(const fs::path& file)
{
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(8192);
    const std::string noise(fs::file_size(file) - 8192, '\x5A');
    out.write(noise.data(), static_cast<std::streamsize>(noise.size()));
}

} // namespace

TEST_CASE("Q11: three daily backups and a weekly one are kept, without checkpoints")
{
    ScratchDatabase scratch;
    back_up_on(scratch, 0);
    CHECK_FALSE(fs::exists(backup_folder(scratch.file()))); // an empty database needs no backup
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
    // A backup can replace the database.
    scratch.clear();
    fs::copy_file(backups_of(scratch.file()).back(), scratch.file());
    scratch.open();
    CHECK(Conversations(*scratch).get("one").id == id);
    talk(*scratch, "two", "again");
}

namespace {

bool holds(const fs::path& file, const std::string& text)
{
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {}).find(text) != std::string::npos;
}

} // namespace

TEST_CASE("Q15: a deleted session is in no backup, and a new backup of the rest is made at once")
{
    ScratchDatabase scratch;
    const int64_t secret = talk(*scratch, "secret", "the combination is 31-7-19");
    const int64_t other = talk(*scratch, "other", "and this is not it");
    back_up_on(scratch, 0);
    back_up_on(scratch, 1);
    CHECK_FALSE(Conversations(*scratch).remove(secret).has_value());
    const auto left = backups_of(scratch.file());
    REQUIRE(left.size() == 2); // one daily, one weekly
    for (const fs::path& backup : left) {
        CHECK_FALSE(holds(backup, "31-7-19"));
        CHECK(holds(backup, "and this is not it"));
    }
    CHECK_FALSE(Conversations(*scratch).remove(other).has_value());
    CHECK(names(scratch.file()).empty()); // an empty database needs no backup

    const int64_t third = talk(*scratch, "third", "3"), last = talk(*scratch, "last", "4");
    fs::remove_all(backup_folder(scratch.file()));
    std::ofstream(backup_folder(scratch.file())) << "in the way";
    const auto why = Conversations(*scratch).remove(third);
    REQUIRE(why.has_value());
    CHECK(why->code() == ErrorCode::InaccessibleFile);
    CHECK(Conversations(*scratch).list().size() == 1);
    CHECK(Conversations(*scratch).messages(last).size() == 1);
}

TEST_CASE("Q15: what a killed program has begun to delete for good, the next owner finishes once")
{
    ScratchDatabase scratch;
    talk(*scratch, "one", "hello");
    back_up_on(scratch, 0);
    finish_erasure(*scratch);
    CHECK(names(scratch.file()).size() == 2); // nothing was begun
    scratch->transaction([&] { mark_erasure(*scratch); });
    scratch.close();
    scratch.open();
    finish_erasure(*scratch);
    CHECK(names(scratch.file()).empty());
    back_up_on(scratch, 0);
    finish_erasure(*scratch);
    CHECK(names(scratch.file()).size() == 2);
}

TEST_CASE("Q11: what killed programs have left of backups is completed or removed")
{
    ScratchDatabase scratch;
    const int64_t id = talk(*scratch, "one", "hello");
    talk(*scratch, "two", "again");
    back_up_on(scratch, 0);
    const fs::path folder = backup_folder(scratch.file()), weekly = folder / "palimpsest-weekly-2026-11-20.db",
                   part = folder / "palimpsest-daily-2026-11-19.db.part",
                   given = folder / "palimpsest-mine.db.part";
    fs::remove(weekly);
    back_up_on(scratch, 0);
    CHECK(fs::exists(weekly));

    const auto leave_parts = [&] {
        for (const fs::path& file : {part, fs::path(part.string() + "-journal"), given})
            std::ofstream(file) << "hello";
    };
    leave_parts();
    back_up_on(scratch, 1);
    CHECK_FALSE(fs::exists(part));
    CHECK_FALSE(fs::exists(part.string() + "-journal"));
    CHECK(fs::exists(given)); // a backup that the user asked for may be under way
    leave_parts();
    CHECK_FALSE(Conversations(*scratch).remove(id).has_value());
    CHECK_FALSE(fs::exists(part));
}

TEST_CASE("discarding an empty session changes no backup")
{
    ScratchDatabase scratch;
    Conversations conversations(*scratch);
    const int64_t kept = talk(*scratch, "kept", "hello");
    back_up_on(scratch, 0);
    const auto before = names(scratch.file());
    const int64_t begun = conversations.create({.name = "begun", .model = "m", .model_name = "m", .options = "{}"});
    conversations.set_pins(begun, std::vector<Pin>{{.first = 1, .last = 2}});
    CHECK(conversations.discard(begun));
    CHECK_FALSE(conversations.find("begun").has_value());
    CHECK(names(scratch.file()) == before);

    CHECK_FALSE(conversations.discard(kept));
    const int64_t framed = conversations.create({.name = "f", .model = "m", .model_name = "m", .options = "{}"});
    conversations.append(framed, StreamFraming{.ids = {1}});
    CHECK_FALSE(conversations.discard(framed));
    CHECK(conversations.list().size() == 2);
}

TEST_CASE("P5: after a backup fails the database can be used as before")
{
    FaultVfs disk;
    for (const Fault fault : {Fault::Full, Fault::Write, Fault::Sync, Fault::Truncate}) {
        ScratchDatabase scratch(tests::quick_folder());
        talk(*scratch, "one", std::string(100000, 'x'));
        const auto back_up = [&] {
            scratch->guarded([&] { back_up_daily(scratch->sql(), scratch.file(), first_day); });
        };
        const auto whole = [&] {
            scratch->guarded([&] { storage::back_up(scratch->sql(), before_schema(scratch.file(), 9)); });
        };
        for (const auto& work : {std::function<void()>(back_up), std::function<void()>(whole)}) {
            disk.arm(fault, 0, false);
            work();
            const uint64_t calls = disk.calls();
            uint64_t refused = 0;
            for (const bool persistent : {false, true}) {
                for (uint64_t nth = 1; nth <= calls; ++nth) {
                    INFO(name_of(fault) << (persistent ? " from call " : " at call ") << nth << " of " << calls);
                    fs::remove_all(backup_folder(scratch.file()));
                    disk.arm(fault, nth, persistent);
                    const std::string code = refusal(work);
                    disk.heal();
                    refused += !code.empty();
                    REQUIRE((code.empty() || code == (fault == Fault::Full ? "PAL-DISK-01" : "PAL-DISK-02")));
                    REQUIRE(names(scratch.file()).size() == (code.empty() ? backups_of(scratch.file()).size() : 0));
                    REQUIRE_NOTHROW(Conversations(*scratch).touch(1));
                    REQUIRE_NOTHROW(scratch->transaction([&] { Conversations(*scratch).stop_growing(1); }));
                }
            }
            CHECK((refused > 0 || calls == 0));
            fs::remove_all(backup_folder(scratch.file()));
            REQUIRE_NOTHROW(work()); // on the same connection
            CHECK_FALSE(backups_of(scratch.file()).empty());
        }
        REQUIRE_NOTHROW(talk(*scratch, "two", "hello"));
    }
}

TEST_CASE("P5: after a backup exceeds the permitted file size the database can be used as before")
{
    ScratchDatabase scratch;
    std::mt19937 random(1);
    std::string text(3 << 20, ' ');
    for (char& c : text)
        c = static_cast<char>('a' + random() % 26);
    talk(*scratch, "one", text);
    const auto back_up = [&] {
        scratch->guarded([&] { back_up_daily(scratch->sql(), scratch.file(), first_day); });
    };
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit usual{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
    const rlimit small{.rlim_cur = 1 << 20, .rlim_max = usual.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const std::string code = refusal(back_up);
    setrlimit(RLIMIT_FSIZE, &usual);
    std::signal(SIGXFSZ, before);
    CHECK(code == "PAL-DISK-02");
    REQUIRE_NOTHROW(talk(*scratch, "two", "hello"));
    REQUIRE_NOTHROW(back_up());
    CHECK(names(scratch.file()).size() == 2);
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
    std::ofstream(lock) << "4711\n"; // as if its owner had been killed
    try {
        Database(scratch.file(), Database::Access::Write);
        FAIL("it was opened");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::DamagedDatabase);
        CHECK(error.remedy().english().find("palimpsest-daily-2026-11-20.db") != std::string::npos);
    }
    CHECK(fs::file_size(lock) > 0); // so that the next start checks again

    std::ofstream(scratch.file(), std::ios::binary) << std::string(20000, 'z');
    // The lock shows that the file was a database, so it counts as damaged, not as another program's file
    // (PAL-DB-02).
    CHECK(refusal([&] { Database(scratch.file(), Database::Access::Write); }) == "PAL-DB-03");
    std::ofstream(scratch.file(), std::ios::binary) << whole;
    scratch.open();
    CHECK(Conversations(*scratch).list().size() == 40);
    scratch.close();
    CHECK(fs::file_size(lock) == 0);
}

namespace {

void leave_behind(const fs::path& file)
{
    std::ofstream(file.string() + ".lock") << "4711\n";
}

bool is_left_behind(const fs::path& file)
{
    return fs::file_size(file.string() + ".lock") > 0;
}

} // namespace

TEST_CASE("Q10: the check after an unclean stop can be stopped within a table, and is repeated at the next start")
{
    ScratchDatabase scratch;
    for (int i = 0; i < 8; ++i)
        talk(*scratch, "s" + std::to_string(i), std::string(1 << 20, 'x'));
    scratch.close();
    const auto pages = fs::file_size(scratch.file()) / 8192;
    leave_behind(scratch.file());
    const auto opened = [&](uint64_t questions, uint64_t& asked) {
        CheckLimit limit{.go_on = [&, questions] { return ++asked < questions; }, .time = 1h};
        return std::make_unique<Database>(scratch.file(), Database::Access::Write, std::nullopt, limit);
    };
    uint64_t asked = 0;
    {
        const auto database = opened(20, asked);
        CHECK(asked == 20); // no page is read after that
        CHECK(database->check_is_unfinished());
        CHECK(Conversations(*database).list().size() == 8);
        talk(*database, "more", "hello");
    }
    CHECK(is_left_behind(scratch.file()));
    {
        const CheckLimit no_time{.go_on = {}, .time = 0ms};
        const Database database(scratch.file(), Database::Access::Write, std::nullopt, no_time);
        CHECK(database.check_is_unfinished());
    }
    CHECK(is_left_behind(scratch.file()));
    asked = 0;
    {
        const auto database = opened(UINT64_MAX, asked);
        CHECK(asked > pages / 2);
        CHECK_FALSE(database->check_is_unfinished());
    }
    CHECK_FALSE(is_left_behind(scratch.file()));
    asked = 0;
    opened(UINT64_MAX, asked);
    CHECK(asked == 0);
}

TEST_CASE("Q10: a whole check runs while the database is open, and the next owner need not repeat it")
{
    ScratchDatabase scratch;
    for (int i = 0; i < 40; ++i)
        talk(*scratch, "s" + std::to_string(i), std::string(3000, 'x'));
    const fs::path file = scratch.file();
    CHECK(check_integrity(file)); // while its owner has it open
    CHECK(is_left_behind(file));  // the owner's lock remains
    CHECK_NOTHROW(talk(*scratch, "more", "hello"));
    scratch.close();
    CHECK(check_integrity(file));
    CHECK_FALSE(is_left_behind(file));

    leave_behind(file);
    uint64_t asked = 0;
    CHECK_FALSE(check_integrity(file, [&] { return ++asked < 5; }));
    CHECK(asked == 5);
    CHECK(is_left_behind(file));
    CHECK(check_integrity(file));
    CHECK_FALSE(is_left_behind(file));

    {
        SQLite::Database other(file.string(), SQLite::OPEN_READWRITE);
        other.exec("PRAGMA foreign_keys = OFF; INSERT INTO pins(session, first, last) VALUES(4711, 1, 2)");
    }
    CHECK(refusal([&] { check_integrity(file); }) == "PAL-DB-03");
    leave_behind(file);
    damage(file);
    CHECK(refusal([&] { check_integrity(file); }) == "PAL-DB-03");
    CHECK(is_left_behind(file));
    CHECK(refusal([&] { check_integrity(file.parent_path() / "none.db"); }) == "PAL-DB-00");
    CHECK_FALSE(fs::exists(file.parent_path() / "none.db.lock"));
}

TEST_CASE("Q10: an owner that is killed leaves content in its lock file, one that closes empties it")
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

TEST_CASE("Q14: on a network file system no write-ahead log is used, and every commit also flushes the folder")
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
