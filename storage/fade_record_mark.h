// Identifies the stored version of a session's fade record without reading the record.
#pragma once

#include <cstdint>

#include "storage/database.h"

namespace palimpsest::storage {

struct FadeRecordMark {
    int64_t session = 0;
    int64_t last_row = -1, tokens_seen = 0, hash = 0; // of the newest row
    bool operator==(const FadeRecordMark&) const = default;
};

// Reads one row. Throws Error like Database.
FadeRecordMark fade_record_mark(Database& database, int64_t session);

} // namespace palimpsest::storage
