// Reads all that is stored of a session and compares it with its checksums.
#pragma once

#include <cstdint>
#include <string>

#include "storage/session/store.h"

namespace palimpsest::storage {

struct VerifiedSession {
    SessionInfo info;
    uint64_t document_tokens = 0;
};

// Reads one state of the database even if another process writes to it meanwhile. Throws Error: NotFound
// (PAL-SESSION-01), or Failed with the code of the first part that is damaged. The time grows with the length of
// the documents.
VerifiedSession verified_session(Store& store, const std::string& name);

} // namespace palimpsest::storage
