#include "storage/rescue.h"

#include <string>

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/damaged_copy.h"
#include "storage/database.h"
#include "storage/interrupted.h"
#include "storage/known_pages.h"
#include "storage/row_salvage.h"
#include "storage/salvage_check.h"
#include "storage/setting_aside.h"
#include "storage/work_folder.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// Passages and what belongs to them follow from the text.
constexpr const char* rescued_tables[] = {
    "settings",   "documents", "document_blocks", "sections", "sessions",  "messages",       "stream",
    "snapshots",  "blocks",    "snapshot_blocks", "fading",   "pins",      "read_again",     "notes",
    "provenance", "metadata",  "pages",           "library",  "made_here", "further_sources"};

void check_space(const fs::path& database)
{
    constexpr uintmax_t reserve = 64 << 20;
    std::error_code unknown;
    uintmax_t bytes = fs::file_size(database, unknown);
    const uintmax_t log = fs::file_size(database.string() + "-wal", unknown);
    if (!unknown) bytes += log;
    const fs::space_info space = fs::space(database.parent_path(), unknown);
    if (unknown || space.available >= 2 * bytes + reserve) return;
    throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(database.string()),
                Text("there is too little space to rescue what it holds"), Text("free space"));
}

uint64_t count(Database& database, const char* sql)
{
    return static_cast<uint64_t>(database.sql().execAndGet(sql).getInt64());
}

void fill(Database& made, DamagedCopy& damaged, Rescued& rescued, const std::function<void()>& check_stop)
{
    made.sql().exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF"); // it is synced as a whole
    RowSalvage rows(damaged.sql(), made, check_stop);
    for (const char* table : rescued_tables)
        rows.copy(table);
    rescued.losses = SalvageCheck(made, rows, check_stop).run();
    rescued.sessions = count(made, "SELECT count(*) FROM sessions");
    rescued.documents = count(made, "SELECT count(*) FROM documents");
    rescued.messages = count(made, "SELECT count(*) FROM messages WHERE text <> ''");
    made.sql().exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

// Whether it holds something that a checksum confirms.
bool has_content(Database& made)
{
    return count(made,
                 "SELECT EXISTS(SELECT 1 FROM messages WHERE text <> '') OR EXISTS(SELECT 1 FROM document_blocks "
                 "WHERE length(data) > 0)") > 0;
}

// Another program's file would be set aside for an empty database.
void check_is_ours(const fs::path& database, Database& made)
{
    if (has_content(made) || has_known_pages(database) || !backups_of(database).empty()) return;
    throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(database.string()),
                Text("it is not a Palimpsest database"), Text("it was left as it is; {0}", Step::ChooseDatabase));
}

} // namespace

Rescued rescue(const fs::path& database, RescueMode mode, const std::function<bool()>& go_on)
{
    const fs::path place = fs::absolute(database);
    if (!fs::exists(place))
        throw Error(ErrorKind::NotFound, ErrorCode::DatabaseNotFound, Text::escaped(place.string()),
                    Text("there are no sessions yet"), Text(Step::BeginSession));
    check_owner(place);
    OwnerLock lock(place.string() + ".lock", busy_timeout);
    undo_setting_aside(place);
    check_space(place);
    const std::function<void()> check_stop = [&] {
        if (go_on && !go_on()) throw Interrupted{Text("stopped; nothing was changed")};
    };
    Rescued rescued;
    const WorkFolder work(place);
    {
        Database made(work.made(), Database::Access::Write);
        made.guarded([&] {
            DamagedCopy damaged(place, work.damaged(), check_stop);
            fill(made, damaged, rescued, check_stop);
            check_is_ours(place, made);
        });
    }
    if (mode == RescueMode::TryOnly) {
        if (!lock.ended_uncleanly()) lock.mark_clean_shutdown();
        return rescued;
    }
    sync_to_disk(work.made());
    check_stop();
    rescued.aside = replace_database(place, work.made()).database;
    return rescued;
}

} // namespace palimpsest::storage
