// Export and import of one session as a file: a Palimpsest database with only that session.
#pragma once

#include <filesystem>
#include <string>

#include "storage/database.h"

namespace palimpsest::storage {

// Throws Error (Failed, PAL-DISK-03) if the file exists.
void require_absent(const std::filesystem::path& file);

// Writes text, messages with their provenance, snapshots, pins, notes and the fade record. Throws Error as
// require_absent does. A failure leaves no file behind.
void export_session(Database& database, int64_t session, const std::filesystem::path& file);

// Imports the session of an exported file, with those of its documents that are not stored yet, under `name` if it
// is not empty. Returns the session's name. Throws Error (Failed, PAL-DB-02) if the file is not an export, (Failed,
// PAL-DB-05) if it is one of a newer version, (Usage, PAL-SESSION-02) if the name is taken; in all cases nothing
// changes.
std::string import_session(Database& database, const std::filesystem::path& file, const std::string& name);

} // namespace palimpsest::storage
