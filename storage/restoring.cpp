#include "storage/restoring.h"

#include <string>

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"
#include "storage/conversations.h"
#include "storage/database.h"
#include "storage/page_check.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_backup(const fs::path& backup, ErrorCode code, const Text& what)
{
    throw Error(ErrorKind::Failed, code, Text::escaped(backup.string()), what, Text("choose another backup"));
}

// Returns the number of its sessions.
uint64_t check_backup(Database& backup)
{
    return backup.guarded([&] {
        if (version_of(backup.sql()) > schema_version)
            refuse_backup(backup.file(), ErrorCode::NewerDatabase,
                          Text("it was written by a newer version of Palimpsest"));
        const auto found = check_pages(backup.sql(), PageCheck::Quick, {});
        if (found && !found->empty())
            refuse_backup(backup.file(), ErrorCode::DamagedDatabase,
                          Text("it is damaged ({0})", Text::escaped(*found)));
        return static_cast<uint64_t>(Conversations(backup).list().size());
    });
}

// A name beside the database that no file has.
fs::path free_name_aside(const fs::path& database)
{
    const fs::path dated = dated_file(database, "aside", today());
    for (int number = 2;; ++number) {
        fs::path name =
            number == 2 ? dated
                        : dated.parent_path() / (dated.stem().string() + "-" + std::to_string(number - 1) + ".db");
        if (!fs::exists(name) && !fs::exists(name.string() + "-wal")) return name;
    }
}

// The write-ahead log belongs to the database that is set aside: with another one, SQLite would apply it all the
// same. So it is copied first and gone before the restored database has the name.
void set_aside(const fs::path& database, const fs::path& aside)
{
    std::error_code none;
    fs::create_hard_link(database, aside, none);
    if (none) fs::copy_file(database, aside); // a file system without hard links
    const fs::path log = database.string() + "-wal", log_aside = aside.string() + "-wal";
    if (fs::exists(log)) {
        fs::copy_file(log, log_aside);
        sync_to_disk(log_aside);
    }
    sync_to_disk(aside);
    sync_to_disk(aside.parent_path());
    for (const char* ending : {"-wal", "-shm", "-journal"})
        fs::remove(database.string() + ending);
}

} // namespace

Restored restore(const fs::path& database, const fs::path& backup)
{
    const fs::path place = fs::absolute(database), part = place.string() + ".restoring";
    std::error_code none;
    Restored restored{.backup = backup, .aside = {}};
    if (fs::equivalent(place, backup, none))
        refuse_backup(backup, ErrorCode::NotADatabase, Text("it is the database itself, not a backup"));
    const OwnerLock lock(place.string() + ".lock", busy_timeout);
    {
        Database from(backup, Database::Access::Read);
        restored.sessions = check_backup(from);
        from.guarded([&] { back_up(from.sql(), part); });
    }
    try {
        if (fs::exists(place)) {
            restored.aside = free_name_aside(place);
            set_aside(place, restored.aside);
        }
        fs::rename(part, place);
        sync_to_disk(place.parent_path());
    } catch (const fs::filesystem_error& failure) {
        fs::remove(part, none);
        throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(place.string()),
                    Text("it cannot be set aside ({0})", Text::escaped(failure.code().message())),
                    Text("check the folder and its permissions"));
    }
    return restored;
}

} // namespace palimpsest::storage
