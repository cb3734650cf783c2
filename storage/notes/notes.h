// The notes of sessions in the database.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/database.h"
#include "storage/notes/note.h"

namespace palimpsest::storage {

class Notes {
public:
    explicit Notes(Database& database) : db_(database) {}

    // Replaces the session's note that begins at the same token.
    void put(int64_t session, const Note& note);
    // Those of a session, or of one of its documents, in the order of documents and tokens. One that does not match
    // its checksum is left out: it can be made again.
    std::vector<Note> of(int64_t session);
    std::vector<Note> of(int64_t session, int64_t document);
    size_t count_left_out(int64_t session);

private:
    Database& db_;
};

} // namespace palimpsest::storage
