// Whether a database's pages hang together (reliability.md, Q10), asked so that it can be stopped.
#pragma once

#include <SQLiteCpp/Database.h>
#include <functional>
#include <optional>
#include <string>

namespace palimpsest::storage {

enum class PageCheck {
    Quick, // the pages and the values in them
    Whole, // indexes against their tables too
};

// What is wrong first, empty if nothing is; nothing at all once `go_on`, asked at every page that is read, has said
// no: the check then ends without reading another. Throws SQLite::Exception.
std::optional<std::string> check_pages(SQLite::Database& db, PageCheck check, const std::function<bool()>& go_on);

} // namespace palimpsest::storage
