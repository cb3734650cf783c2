// Which rows of pins no version of this program writes.
#pragma once

namespace palimpsest::storage {

// Selects the rowids of such pins of session ?1. A pin may reach beyond the end of the stream: older versions took
// token numbers as they were given. But all pins of a session together are always smaller than its budget, so if
// they are not, those beyond the end are altered.
inline constexpr const char* impossible_pins =
    "SELECT rowid FROM pins WHERE session = ?1 AND (first < 0 OR last <= first OR last > 4294967295 OR "
    "(last > (SELECT coalesce(sum(tokens), 0) FROM stream WHERE session = ?1) AND "
    "(SELECT sum(last - first) FROM pins WHERE session = ?1 AND first BETWEEN 0 AND last AND last <= 4294967295) "
    ">= "
    "(SELECT CASE WHEN json_valid(options) THEN coalesce(json_extract(options, '$.budget'), 0) ELSE 0 END FROM "
    "sessions WHERE id = ?1)))";

} // namespace palimpsest::storage
