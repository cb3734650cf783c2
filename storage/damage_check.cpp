#include "storage/damage_check.h"

#include <chrono>
#include <string>

#include "kernels/base/error.h"
#include "storage/backup_files.h"
#include "storage/database.h"
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
        // A newer version writes it, unless its number is damaged.
        if (version_of(opened.sql()) > schema_version && find_known_version(opened.sql()))
            refuse_as_damaged(database, Text("its first page"));
    });
    if (lock.ended_uncleanly() && check_quickly(opened)) lock.mark_clean_shutdown();
}

} // namespace palimpsest::storage
