// A session in one file of its own: a Palimpsest database that holds nothing else.
#pragma once

#include <filesystem>
#include <string>

#include "storage/database.h"

namespace palimpsest::storage {

// Writes text, messages, states, pins and the fading record. Throws Error (Failed, PAL-DISK-03) if the file is
// there already. A failure leaves no file.
void export_session(Database& database, int64_t session, const std::filesystem::path& file);

// Takes in the session of an exported file, under another name if one is given. Returns its name. Throws Error
// (Failed, PAL-DB-02) for a file that is no export, (Usage, PAL-SESSION-02) if the name is taken; nothing is
// changed then.
std::string import_session(Database& database, const std::filesystem::path& file, const std::string& name);

} // namespace palimpsest::storage
