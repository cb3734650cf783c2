#include "storage/damage_check.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <chrono>
#include <sqlite3.h>
#include <string>

#include "kernels/base/error.h"
#include "storage/backup_files.h"
#include "storage/database.h"
#include "storage/disk_full.h"
#include "storage/interruptible_file.h"
#include "storage/page_check.h"
#include "storage/schema.h"
#include "storage/setting_aside.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_as_damaged(const fs::path& database, const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text::escaped(database.string()),
                Text("it is damaged ({0})", what), restoring_advice(database));
}

// Returns false if there was too little time to check everything.
bool check_quickly(Database& opened)
{
    const auto end = std::chrono::steady_clock::now() + CheckLimit().time;
    const auto go_on = [&] { return std::chrono::steady_clock::now() < end; };
    const auto found = opened.guarded([&] { return check_pages(opened.sql(), PageCheck::Quick, go_on); });
    if (found && !found->empty()) refuse_as_damaged(opened.file(), Text::escaped(*found));
    return found.has_value();
}

// Undoes an unfinished transaction by its rollback journal, which a connection that only reads cannot do.
void play_journal_back(const fs::path& copy)
{
    if (!fs::exists(copy.string() + "-journal")) return;
    SQLite::Database(copy.string(), SQLite::OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW)
        .execAndGet("PRAGMA schema_version");
}

// SQLite does not look into it at a check of pages before version 3.44.
void check_passage_texts(const fs::path& copy, const std::function<bool()>& go_on)
{
    SQLite::Database raw(copy.string(), SQLite::OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
    // Otherwise closing the database copies the whole log into the file, which cannot be stopped.
    sqlite3_db_config(raw.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    const InterruptibleFile questioned(raw, go_on);
    if (raw.execAndGet("SELECT count(*) FROM sqlite_schema WHERE name = 'passage_texts'").getInt() > 0)
        raw.exec("INSERT INTO passage_texts(passage_texts) VALUES('integrity-check')");
}

bool has_orphans(Database& opened, const std::function<bool()>& go_on)
{
    const InterruptibleFile questioned(opened.sql(), go_on);
    return opened.statement("PRAGMA foreign_key_check").executeStep();
}

// A newer version writes it, unless its number is damaged.
bool has_damaged_version(Database& opened)
{
    return version_of(opened.sql()) > schema_version && find_known_version(opened.sql());
}

[[noreturn]] void refuse_machine(const fs::path& copy, const SQLite::Exception& failure)
{
    const std::string said = failure.getErrorStr();
    throw Error(ErrorKind::Resources, ErrorCode::DiskFailed, Text::escaped(copy.string()),
                Text("reading or writing failed ({0})", said),
                Text("what was saved is safe; check the disk, copy the file elsewhere and start again"));
}

} // namespace

void look_for_damage(const fs::path& database)
{
    std::error_code unknown;
    if (!fs::exists(database, unknown)) return;
    OwnerLock lock(database.string() + ".lock", std::chrono::milliseconds(0));
    if (!lock.ended_uncleanly()) lock.mark_clean_shutdown(); // this is no owner whose end could be unclean
    undo_setting_aside(database);                            // without its log it may look damaged
    Database opened(database, Database::Access::Read);
    opened.guarded([&] {
        if (has_damaged_version(opened)) refuse_as_damaged(database, Text("its first page"));
    });
    if (lock.ended_uncleanly() && check_quickly(opened)) lock.mark_clean_shutdown();
}

bool is_sound(const fs::path& copy, const std::function<bool()>& go_on)
try {
    play_journal_back(copy);
    {
        Database opened(copy, Database::Access::Read);
        const bool is_whole = opened.guarded([&] {
            const auto found = check_pages(opened.sql(), PageCheck::Whole, go_on);
            return found && found->empty() && !has_damaged_version(opened) && !has_orphans(opened, go_on);
        });
        if (!is_whole) return false;
    }
    check_passage_texts(copy, go_on);
    return true;
} catch (const Error& error) {
    if (error.kind() == ErrorKind::Resources || error.kind() == ErrorKind::Busy) throw;
    return false;
} catch (const SQLite::Exception& failure) {
    if (!concerns_machine(failure)) return false;
    refuse_machine(copy, failure);
}

} // namespace palimpsest::storage
