// Looks for damage in a database without changing it.
#pragma once

#include <filesystem>
#include <functional>

namespace palimpsest::storage {

// Opens a database as a reader and, if its last owner did not end in good order, checks its pages for at most
// CheckLimit::time, as the next owner would. If nothing is wrong with any, that one need not. Gives the database
// its log back if it lacks that (undo_setting_aside). Does nothing if the file is not there. Throws Error: Busy
// (PAL-DB-07) while another process owns it, which has checked it, and as opening for Read does, with Failed
// (PAL-DB-03) for damage.
void look_for_damage(const std::filesystem::path& database);

// Whether SQLite finds every page, index and reference of a database as it should be, the index of passages
// included. Texts are not compared with their checksums. `copy` has no other user, and gets back what its journal
// keeps; its log stays beside it. `go_on` is called at every page of every check; false if it stopped the check.
bool is_sound(const std::filesystem::path& copy, const std::function<bool()>& go_on);

} // namespace palimpsest::storage
