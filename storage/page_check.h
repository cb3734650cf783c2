// Interruptible consistency check of a database's pages.
#pragma once

#include <SQLiteCpp/Database.h>
#include <functional>
#include <optional>
#include <string>

namespace palimpsest::storage {

enum class PageCheck {
    Quick, // pages and the values in them
    Whole, // also indexes against their tables
};

// Returns the first problem found, or an empty string. Returns nullopt if `go_on`, called at every page read,
// returned false; no further page is read then. Throws SQLite::Exception.
std::optional<std::string> check_pages(SQLite::Database& db, PageCheck check, const std::function<bool()>& go_on);

} // namespace palimpsest::storage
