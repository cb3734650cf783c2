#include "storage/page_check.h"

#include <SQLiteCpp/Exception.h>

#include "storage/interruptible_file.h"

namespace palimpsest::storage {

std::optional<std::string> check_pages(SQLite::Database& db, PageCheck check, const std::function<bool()>& go_on)
{
    const InterruptibleFile questioned(db, go_on);
    try {
        const std::string found =
            db.execAndGet(check == PageCheck::Quick ? "PRAGMA quick_check(1)" : "PRAGMA integrity_check(1)")
                .getString();
        if (questioned.was_stopped()) return std::nullopt; // `found` may be an error because reads were interrupted
        return found == "ok" ? "" : found;
    } catch (const SQLite::Exception&) {
        if (questioned.was_stopped()) return std::nullopt;
        throw;
    }
}

} // namespace palimpsest::storage
