#include "storage/restoring.h"

#include <string>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/database.h"
#include "storage/left_overs.h"
#include "storage/page_check.h"
#include "storage/part_file.h"
#include "storage/schema.h"
#include "storage/setting_aside.h"

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

// An error of the copy in the making, as one of the database that was asked for.
Error with_database_name(const Error& error, const fs::path& part, const fs::path& database)
{
    if (error.code() != ErrorCode::DiskFull) return with_file_name(error, part, database);
    return {error.kind(), error.code(), Text::escaped(database.string()),
            Text("there is too little space to restore the backup"),
            Text("nothing was changed; free space and try again")};
}

int64_t written_ms(const fs::path& file)
{
    struct stat status {};
    return stat(file.c_str(), &status) == 0 ? int64_t{status.st_mtime} * 1000 : 0;
}

} // namespace

std::optional<Backup> newest_backup(const fs::path& database)
{
    const auto files = backups_of(database);
    for (auto file = files.rbegin(); file != files.rend(); ++file)
        try {
            Database backup(*file, Database::Access::Read);
            return Backup{.file = *file, .written_ms = written_ms(*file), .sessions = check_backup(backup)};
        } catch (const Error&) {
            continue; // an older one may be whole
        }
    return std::nullopt;
}

Restored restore(const fs::path& database, const fs::path& backup)
{
    const fs::path place = fs::absolute(database), part = restored_part(place);
    std::error_code none;
    Restored restored{.backup = backup, .aside = {}};
    if (fs::equivalent(place, backup, none))
        refuse_backup(backup, ErrorCode::NotADatabase, Text("it is the database itself, not a backup"));
    const OwnerLock lock(place.string() + ".lock", busy_timeout);
    undo_setting_aside(place);
    if (is_left_over(place, fs::absolute(backup)))
        throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(backup.string()),
                    Text("a program that was killed has left it, and it may be incomplete"),
                    Text("copy it to another name to try it all the same"));
    {
        Database from(backup, Database::Access::Read);
        restored.sessions = check_backup(from);
        remove_left_overs(place);
        try {
            from.guarded([&] { back_up(from.sql(), part); });
        } catch (const Error& error) {
            throw with_database_name(error, part, place);
        }
    }
    restored.aside = replace_database(place, part).database;
    return restored;
}

} // namespace palimpsest::storage
