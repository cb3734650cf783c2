#include "storage/rescue.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/damage_check.h"
#include "storage/damaged_copy.h"
#include "storage/database.h"
#include "storage/interruptible_file.h"
#include "storage/known_pages.h"
#include "storage/left_overs.h"
#include "storage/readable_copy.h"
#include "storage/rescue_progress.h"
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

constexpr const char* files_of_database[] = {"", "-wal", "-journal"};

uintmax_t bytes_of(const fs::path& database)
{
    uintmax_t bytes = 0;
    for (const char* ending : files_of_database) {
        std::error_code unknown;
        const uintmax_t size = fs::file_size(database.string() + ending, unknown);
        if (!unknown) bytes += size;
    }
    return bytes;
}

void check_space(const fs::path& database)
{
    constexpr uintmax_t reserve = 64 << 20;
    std::error_code unknown;
    const fs::space_info space = fs::space(database.parent_path(), unknown);
    if (unknown || space.available >= 2 * bytes_of(database) + reserve) return;
    refuse_copy(database, ENOSPC);
}

void copy_database(const fs::path& database, const fs::path& to, RescueProgress& progress)
{
    const auto all = static_cast<double>(bytes_of(database));
    uint64_t pieces = 0;
    const std::function<void()> copied = [&] {
        progress.reach(static_cast<double>(pieces++ * copied_piece_bytes) / all);
        progress.check_stop();
    };
    for (const char* ending : files_of_database)
        if (const fs::path part = database.string() + ending; fs::exists(part))
            copy_readable(part, to.string() + ending, copied);
}

bool finds_no_damage(const fs::path& copy, RescueProgress& progress)
{
    const auto all = static_cast<double>(bytes_of(copy)) / static_cast<double>(copied_piece_bytes) + 1;
    uint64_t pages = 0;
    const bool is_whole = is_sound(copy, [&] {
        progress.reach(static_cast<double>(pages++) / all);
        return progress.goes_on();
    });
    progress.check_stop();
    return is_whole;
}

uint64_t count(Database& database, const char* sql)
{
    return static_cast<uint64_t>(database.sql().execAndGet(sql).getInt64());
}

double pages_of(SQLite::Database& db)
{
    return db.execAndGet("PRAGMA page_count").getDouble();
}

void fill(Database& made, DamagedCopy& damaged, Rescued& rescued, RescueProgress& progress)
{
    const std::function<bool()> go_on = [&] { return progress.goes_on(); };
    const InterruptibleFile questioned(made.sql(), go_on);
    made.sql().exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF"); // it is synced as a whole
    constexpr uint64_t rows_between =
        4096; // while rows are copied, the size of the new database tells how far that is
    const double pages = pages_of(damaged.sql()) + 1;
    uint64_t row = 0;
    bool copies_rows = true;
    const std::function<void()> check_stop = [&] {
        if (copies_rows && ++row % rows_between == 0) progress.reach(pages_of(made.sql()) / pages);
        progress.check_stop();
    };
    RowSalvage rows(damaged.sql(), made, check_stop);
    progress.begin(35, 65);
    for (const char* table : rescued_tables)
        rows.copy(table);
    copies_rows = false;
    progress.begin(65, 99);
    rescued.losses = SalvageCheck(made, rows, check_stop).run([&](double share) { progress.reach(share); });
    rescued.sessions = count(made, "SELECT count(*) FROM sessions");
    rescued.documents = count(made, "SELECT count(*) FROM documents");
    rescued.messages = count(made, "SELECT count(*) FROM messages WHERE text <> ''");
    made.sql().exec("PRAGMA wal_checkpoint(TRUNCATE)");
    progress.check_stop();
}

// Whether it holds something that a checksum confirms.
bool has_content(Database& made)
{
    return count(made,
                 "SELECT EXISTS(SELECT 1 FROM messages WHERE text <> '') OR EXISTS(SELECT 1 FROM document_blocks "
                 "WHERE length(data) > 0)") > 0;
}

bool is_known_as_ours(const fs::path& database)
{
    return has_known_pages(database) || !backups_of(database).empty();
}

// Another program's file would be set aside for an empty database.
void check_is_ours(const fs::path& database, Database& made)
{
    if (has_content(made) || is_known_as_ours(database)) return;
    throw Error(ErrorKind::Failed, ErrorCode::NotADatabase, Text::escaped(database.string()),
                Text("it is not a Palimpsest database"), Text("it was left as it is; {0}", Step::ChooseDatabase));
}

// Returns the text of the file that is kept beside the damaged database and lists the losses.
std::string report_of(const fs::path& database, const std::vector<Loss>& losses, const Wording* wording)
{
    std::string report;
    const auto add = [&](const Text& line) {
        report.append(wording ? line.in(*wording) : line.english()).append("\n");
    };
    if (losses.empty()) return report;
    add(Text("When {0} was rescued, this was lost:", printable(database.string())));
    for (const Loss& loss : losses)
        add(sentence_of(loss));
    return report;
}

// The lock of a file that may belong to another program. Unless the database is replaced, it is as it was
// afterwards, and is gone if it was not there.
class RescueLock {
public:
    explicit RescueLock(const fs::path& database)
        : file_(database.string() + ".lock"), was_there_(fs::exists(file_)), lock_(file_, busy_timeout)
    {
    }
    ~RescueLock()
    {
        std::error_code ignored;
        if (is_replaced_) return;
        if (!lock_.ended_uncleanly()) lock_.mark_clean_shutdown();
        if (!was_there_) fs::remove(file_, ignored);
    }
    RescueLock(const RescueLock&) = delete;
    RescueLock& operator=(const RescueLock&) = delete;

    void set_replaced() { is_replaced_ = true; }

private:
    fs::path file_;
    bool was_there_, is_replaced_ = false;
    OwnerLock lock_;
};

// An error of a file in the work folder, as one of the database that is rescued.
Error as_of_database(const Error& error, const fs::path& folder, const fs::path& database)
{
    if (!error.subject().english().starts_with(Text::escaped(folder.string()).english())) return error;
    return {error.kind(), error.code(),   Text::escaped(database.string()),
            error.text(), error.remedy(), error.offset()};
}

// Makes the new database in the work folder, on stable storage.
Rescued make_rescued(const fs::path& place, const WorkFolder& work, RescueMode mode, RescueProgress& progress)
try {
    Rescued rescued;
    progress.begin(0, 15);
    copy_database(place, work.damaged(), progress);
    progress.begin(15, 35);
    const bool may_be_whole = mode != RescueMode::Replace && finds_no_damage(work.damaged(), progress);
    {
        Database made(work.made(), Database::Access::Write);
        made.guarded([&] {
            DamagedCopy damaged(place, work.damaged(), progress);
            fill(made, damaged, rescued, progress);
            check_is_ours(place, made);
        });
    }
    sync_to_disk(work.made());
    progress.check_stop();
    rescued.is_damaged = !may_be_whole || !rescued.losses.empty();
    return rescued;
} catch (const Error& error) {
    progress.check_stop(); // SQLite calls that an error, too
    throw as_of_database(error, work.path(), place);
} catch (const fs::filesystem_error& failure) {
    refuse_copy(place, failure.code().value());
}

} // namespace

Rescued rescue(const fs::path& database, RescueMode mode, const std::function<bool(int)>& go_on,
               const Wording* wording)
{
    const fs::path place = fs::absolute(database);
    if (!fs::exists(place))
        throw Error(ErrorKind::NotFound, ErrorCode::DatabaseNotFound, Text::escaped(place.string()),
                    Text("there are no sessions yet"), Text(Step::BeginSession));
    check_owner(place);
    RescueLock lock(place);
    undo_setting_aside(place);
    if (is_known_as_ours(place)) remove_left_overs(place); // otherwise the next owner does
    check_space(place);
    RescueProgress progress(go_on);
    const WorkFolder work(place);
    Rescued rescued = make_rescued(place, work, mode, progress);
    if (mode == RescueMode::TryOnly || (mode == RescueMode::ReplaceDamaged && !rescued.is_damaged)) return rescued;
    const SetAside kept = replace_database(place, work.made(), report_of(place, rescued.losses, wording));
    lock.set_replaced();
    rescued.aside = kept.database;
    rescued.report = kept.report;
    return rescued;
}

} // namespace palimpsest::storage
