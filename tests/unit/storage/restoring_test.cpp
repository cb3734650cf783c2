// Restoring a backup: it replaces the database, and the database before is kept, with its log, under another name
// (docs/validation.md, P6 and Q11).
#include <fstream>
#include <iterator>

#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/erasure.h"
#include "storage/file_state.h"
#include "storage/left_overs.h"
#include "storage/rescue.h"
#include "storage/restoring.h"
#include "storage/schema.h"
#include "storage/session/store.h"
#include "storage/setting_aside.h"
#include "tests/support/catch.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::refusal;
using palimpsest::tests::ScratchDatabase;
namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void add_session(Database& database, const std::string& name)
{
    Conversations(database).create({.name = name, .model = "m", .model_name = "m", .options = "{}"});
}

std::vector<std::string> sessions_in(const fs::path& file)
{
    Database database(file, Database::Access::Read);
    std::vector<std::string> names;
    for (const SessionInfo& info : Conversations(database).list())
        names.push_back(info.name);
    return names;
}

// A database with "early" in its backup and "late" only in itself. The last change is in its log, as after a crash.
struct Scene {
    Scene()
    {
        add_session(*scratch, "early");
        backup = scratch.file().parent_path() / "copy.db";
        back_up(scratch->sql(), backup);
        add_session(*scratch, "late");
        for (const char* ending : {"", "-wal"})
            fs::copy_file(scratch.file().string() + ending, scratch.file().string() + ending + ".kept");
        scratch.clear();
        for (const char* ending : {"", "-wal"})
            fs::rename(scratch.file().string() + ending + ".kept", scratch.file().string() + ending);
    }
    fs::path file() const { return scratch.file(); }

    ScratchDatabase scratch;
    fs::path backup;
};

} // namespace

TEST_CASE("a backup takes the place of the database, and what was there before is set aside with its log")
{
    const Scene scene;
    const std::string before = content_of(scene.file()), log = content_of(scene.file().string() + "-wal");
    REQUIRE_FALSE(log.empty());
    const Restored restored = restore(scene.file(), scene.backup);
    CHECK(restored.sessions == 1);
    CHECK(sessions_in(scene.file()) == std::vector<std::string>{"early"});
    CHECK(content_of(restored.aside) == before);
    CHECK(content_of(restored.aside.string() + "-wal") == log);
    CHECK(sessions_in(restored.aside) == std::vector<std::string>{"late", "early"});
    CHECK((fs::status(scene.file()).permissions() & fs::perms::all) ==
          (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(sessions_in(scene.backup) == std::vector<std::string>{"early"});

    // Once more on the same day: no file that was set aside is overwritten.
    const Restored again = restore(scene.file(), scene.backup);
    CHECK(again.aside != restored.aside);
    CHECK(content_of(restored.aside) == before);
    Database database(scene.file(), Database::Access::Write);
    add_session(database, "new");
}

TEST_CASE("a damaged database is set aside byte for byte")
{
    const Scene scene;
    for (const char* ending : {"", "-wal"})
        std::ofstream(scene.file().string() + ending, std::ios::binary) << "no database, but it is kept" << ending;
    const Restored restored = restore(scene.file(), scene.backup);
    CHECK(content_of(restored.aside) == "no database, but it is kept");
    CHECK(content_of(restored.aside.string() + "-wal") == "no database, but it is kept-wal");
    CHECK(sessions_in(scene.file()) == std::vector<std::string>{"early"});
}

TEST_CASE("a program that is killed while it sets a database aside loses nothing")
{
    const Scene scene;
    const std::string log = scene.file().string() + "-wal";
    const fs::path aside = dated_file(scene.file(), "aside", std::chrono::sys_days{});
    fs::create_hard_link(scene.file(), aside);
    fs::copy_file(log, aside.string() + "-wal");
    fs::remove(log);
    {
        Database database(scene.file(), Database::Access::Write);
        CHECK(Conversations(database).list().size() == 2);
    }
    CHECK(sessions_in(scene.file()) == std::vector<std::string>{"late", "early"});
    CHECK_FALSE(fs::exists(aside));
    CHECK_FALSE(fs::exists(aside.string() + "-wal"));
}

TEST_CASE("without hard links, a program that is killed while it sets a database aside loses nothing either")
{
    const Scene scene;
    const std::string log = scene.file().string() + "-wal", marker = scene.file().string() + ".setting-aside";
    const fs::path aside = dated_file(scene.file(), "aside", std::chrono::sys_days{});
    fs::copy_file(scene.file(), aside);
    fs::rename(log, aside.string() + "-wal");
    std::ofstream(marker) << aside.filename().string();
    SECTION("before another one has the name")
    {
        CHECK(sessions_in(scene.file()) == std::vector<std::string>{"late", "early"});
        CHECK_FALSE(fs::exists(aside));
    }
    SECTION("before another one has the name, and a writer opens it")
    {
        const Database database(scene.file(), Database::Access::Write);
        CHECK_FALSE(fs::exists(aside));
    }
    SECTION("when another one has the name")
    {
        fs::rename(scene.backup, scene.file());
        CHECK(sessions_in(scene.file()) == std::vector<std::string>{"early"});
        {
            const Database database(scene.file(), Database::Access::Write);
        }
        CHECK(sessions_in(scene.file()) == std::vector<std::string>{"early"});
        CHECK(sessions_in(aside) == std::vector<std::string>{"late", "early"});
        CHECK_FALSE(fs::exists(marker));
        return;
    }
    CHECK(sessions_in(scene.file()) == std::vector<std::string>{"late", "early"});
    CHECK_FALSE(fs::exists(aside.string() + "-wal"));
    CHECK_FALSE(fs::exists(marker));
}

namespace {

// Bytes that this process has read from files.
uint64_t bytes_read()
{
    std::ifstream counts("/proc/self/io");
    std::string name;
    uint64_t bytes = 0;
    REQUIRE(counts >> name >> bytes);
    REQUIRE(name == "rchar:");
    return bytes;
}

} // namespace

TEST_CASE("without hard links, whether another database has the name is told without reading all of it")
{
    const Scene scene;
    const std::string log = scene.file().string() + "-wal";
    const fs::path marker = scene.file().string() + ".setting-aside",
                   aside = dated_file(scene.file(), "aside", std::chrono::sys_days{});
    constexpr uintmax_t large = 64 << 20;
    fs::resize_file(scene.file(), large);
    fs::copy_file(scene.file(), aside);
    fs::rename(log, aside.string() + "-wal");
    const auto state = FileState::of(scene.file());
    const bool names_file = GENERATE(true, false); // false: as older versions wrote it
    std::ofstream(marker) << aside.filename().string() << '\n'
                          << state->bytes << ' ' << state->changed_ns
                          << (names_file ? " " + std::to_string(state->device) + " " + std::to_string(state->inode)
                                         : "");
    SECTION("none has it")
    {
        const uint64_t before = bytes_read();
        undo_setting_aside(scene.file());
        CHECK(bytes_read() - before < large / 8);
        CHECK_FALSE(fs::exists(aside));
        CHECK(fs::exists(log));
    }
    SECTION("one with the same size and time has it")
    {
        const auto time = fs::last_write_time(scene.file());
        std::fstream(scene.file(), std::ios::binary | std::ios::in | std::ios::out) << "another";
        fs::last_write_time(scene.file(), time);
        undo_setting_aside(scene.file());
        CHECK(fs::exists(aside));
        CHECK_FALSE(fs::exists(log));
    }
    SECTION("another file with the same size and time has it, which differs where no piece is compared")
    {
        const auto time = fs::last_write_time(scene.file());
        const fs::path other = scene.file().string() + ".other";
        fs::copy_file(scene.file(), other);
        std::fstream(other, std::ios::binary | std::ios::in | std::ios::out).seekp(200'000) << "another";
        fs::rename(other, scene.file());
        fs::last_write_time(scene.file(), time);
        undo_setting_aside(scene.file());
        CHECK(fs::exists(aside) == names_file);
        CHECK(fs::exists(log) != names_file);
    }
    SECTION("none has it, and the time is another one")
    {
        fs::last_write_time(scene.file(), fs::last_write_time(scene.file()) + std::chrono::hours(1));
        undo_setting_aside(scene.file());
        CHECK_FALSE(fs::exists(aside));
        CHECK(fs::exists(log));
    }
    CHECK_FALSE(fs::exists(marker));
}

TEST_CASE("a marker that names no file that was set aside changes nothing")
{
    const Scene scene;
    const fs::path marker = scene.file().string() + ".setting-aside",
                   other = scene.file().parent_path() / "mine.db";
    fs::copy_file(scene.file(), other);
    for (const char* name : {"mine.db", "../mine.db", "missing.db", ""}) {
        std::ofstream(marker, std::ios::trunc) << name;
        const Database database(scene.file(), Database::Access::Write);
        CHECK(fs::exists(other));
        CHECK_FALSE(fs::exists(marker));
    }
}

TEST_CASE("if the new database cannot take the name, the one before is there with its log, and no report")
{
    const Scene scene;
    const std::string before = content_of(scene.file()), log = content_of(scene.file().string() + "-wal");
    const OwnerLock owner(scene.file().string() + ".lock", busy_timeout);
    CHECK(refusal([&] { replace_database(scene.file(), scene.file().parent_path() / "missing.db", "lost"); }) ==
          "PAL-DISK-03");
    CHECK(content_of(scene.file()) == before);
    CHECK(content_of(scene.file().string() + "-wal") == log);
    CHECK(unused_files(scene.file()).empty());
}

TEST_CASE("whoever reads a database after a program was killed while it set it aside sees all of it")
{
    const Scene scene;
    const std::string log = scene.file().string() + "-wal";
    const fs::path aside = dated_file(scene.file(), "aside", std::chrono::sys_days{});
    fs::create_hard_link(scene.file(), aside);
    fs::rename(log, aside.string() + "-wal");
    SECTION("with a log without content, which another reader made")
    {
        std::ofstream{log};
    }
    SECTION("without a log"){}
    {
        Database database(scene.file(), Database::Access::Read);
        CHECK(Conversations(database).list().size() == 2);
    }
    {
        Database database(scene.file(), Database::Access::Write);
        CHECK(Conversations(database).list().size() == 2);
    }
    CHECK_FALSE(fs::exists(aside));
}

TEST_CASE("a log that was copied in part, or is older than the database's own, never replaces that one")
{
    const Scene scene;
    const std::string log = scene.file().string() + "-wal";
    const std::string own = content_of(log);
    const fs::path aside = dated_file(scene.file(), "aside", std::chrono::sys_days{});
    fs::create_hard_link(scene.file(), aside);
    const std::string kept = aside.string() + GENERATE("-wal", "-wal.part");
    std::ofstream(kept, std::ios::binary) << own.substr(0, own.size() / 2);
    undo_setting_aside(scene.file());
    CHECK(content_of(log) == own);
    CHECK_FALSE(fs::exists(aside));
    CHECK_FALSE(fs::exists(kept));
    CHECK(fs::hard_link_count(scene.file()) == 1);
}

TEST_CASE("what was set aside is not altered by the database that took its name")
{
    const Scene scene;
    const Restored restored = restore(scene.file(), scene.backup);
    const std::string before = content_of(restored.aside);
    {
        Database database(scene.file(), Database::Access::Write);
        add_session(database, "new");
    }
    CHECK(content_of(restored.aside) == before);
    CHECK(fs::exists(restored.aside.string() + "-wal"));
}

TEST_CASE("a database that is gone is restored without anything set aside")
{
    const Scene scene;
    fs::remove(scene.file());
    fs::remove(scene.file().string() + "-wal");
    CHECK(restore(scene.file(), scene.backup).aside.empty());
    CHECK(sessions_in(scene.file()) == std::vector<std::string>{"early"});
}

TEST_CASE(
    "what a killed restore or rescue left is removed by the next one and by the next owner, and holds no text then")
{
    const Scene scene;
    const std::string own = scene.file().string();
    const fs::path folder = own + ".rescue-AbC123", foreign = own + ".rescue-AbC124",
                   nested = own + ".rescue-AbC125";
    fs::create_directory(folder);
    fs::create_directory(foreign);
    fs::create_directories(nested / "damaged.db");
    const std::vector<fs::path> left{own + ".restoring",      own + ".restoring-wal",
                                     own + ".restoring.part", own + ".restoring.part-journal",
                                     folder / "damaged.db",   folder / "made.db-wal"};
    const std::vector<fs::path> others{own + ".restoring.txt", own + ".rescue-notes",
                                       foreign / "made.db",    foreign / "mine.txt",
                                       nested / "made.db",     nested / "damaged.db/made.db"};
    for (const auto& files : {left, others})
        for (const fs::path& file : files)
            std::ofstream(file) << "a text";
    uint64_t bytes = 0;
    for (const UnusedFile& file : left_overs(scene.file()))
        bytes += file.bytes;
    CHECK(left_overs(scene.file()).size() == 5);
    CHECK(bytes == 6 * 6);
    {
        const OwnerLock owner(own + ".lock", busy_timeout); // they may be its own
        CHECK(refusal([&] { restore(scene.file(), scene.backup); }) == "PAL-DB-07");
        CHECK(refusal([&] { rescue(scene.file(), RescueMode::TryOnly); }) == "PAL-DB-07");
        CHECK(refusal([&] { open_store(own, Database::Access::Write); }) == "PAL-DB-07");
        open_store(own, Database::Access::Read);
        CHECK(fs::exists(left[0]));
    }
    SECTION("the next restore, but not of one of them")
    {
        CHECK(refusal([&] { restore(scene.file(), own + ".restoring"); }) == "PAL-DB-02");
        CHECK(refusal([&] { restore(scene.file(), folder / "damaged.db"); }) == "PAL-DB-02");
        CHECK(fs::exists(folder / "damaged.db"));
        restore(scene.file(), scene.backup);
    }
    SECTION("the next rescue")
    {
        rescue(scene.file(), RescueMode::TryOnly);
    }
    SECTION("the next owner")
    {
        open_store(own, Database::Access::Write);
    }
    SECTION("what is deleted for good")
    {
        Database database(scene.file(), Database::Access::Write);
        erase(database, [] {});
    }
    for (const fs::path& file : left)
        CHECK_FALSE(fs::exists(file));
    CHECK_FALSE(fs::exists(folder));
    for (const fs::path& file : others)
        CHECK(content_of(file) == "a text");
}

TEST_CASE("what cannot be restored leaves the database as it was")
{
    const Scene scene;
    const std::string before = content_of(scene.file()), log = content_of(scene.file().string() + "-wal");
    const auto refused = [&](const fs::path& backup) {
        std::string code = refusal([&] { restore(scene.file(), backup); });
        INFO(backup);
        CHECK(content_of(scene.file()) == before);
        CHECK(content_of(scene.file().string() + "-wal") == log);
        CHECK_FALSE(fs::exists(scene.file().string() + ".restoring"));
        return code;
    };
    const fs::path folder = scene.file().parent_path(), other = folder / "other.db";
    CHECK(refused(folder / "missing.db") == "PAL-DB-00");
    CHECK(refused(scene.file()) == "PAL-DB-02");
    std::ofstream(other) << std::string(20000, 'x');
    CHECK(refused(other) == "PAL-DB-02");
    std::string damaged = content_of(scene.backup);
    damaged.replace(damaged.size() / 2, 9000, std::string(9000, '\xFF'));
    std::ofstream(other, std::ios::binary | std::ios::trunc) << damaged;
    CHECK(refused(other) == "PAL-DB-03");
    fs::remove(other);
    fs::copy_file(scene.backup, other);
    {
        SQLite::Database newer(other.string(), SQLite::OPEN_READWRITE);
        newer.exec("PRAGMA user_version = " + std::to_string(schema_version + 1));
    }
    CHECK(refused(other) == "PAL-DB-05");

    const OwnerLock owner(scene.file().string() + ".lock", busy_timeout);
    CHECK(refusal([&] { restore(scene.file(), scene.backup); }) == "PAL-DB-07");
    CHECK(content_of(scene.file()) == before);
}
