// Looks for damage in a database without changing it.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Opens a database as a reader and, if its last owner did not end in good order, checks its pages for at most
// CheckLimit::time, as the next owner would. If nothing is wrong with any, that one need not. Gives the database
// its log back if it lacks that (undo_setting_aside). Does nothing if the file is not there. Throws Error: Busy
// (PAL-DB-07) while another process owns it, which has checked it, and as opening for Read does, with Failed
// (PAL-DB-03) for damage.
void look_for_damage(const std::filesystem::path& database);

} // namespace palimpsest::storage
