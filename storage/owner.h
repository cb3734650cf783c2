// The process that writes a database, for those that would rather not wait for it (storage/owner_lock.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace palimpsest::storage {

// The id of the process that owns the database now. nullopt: none does, or that cannot be told. Changes nothing.
std::optional<std::string> owner_of(const std::filesystem::path& database);

// Throws Error (Busy, PAL-DB-07) at once while another process owns the database. One may come later.
void require_no_owner(const std::filesystem::path& database);

} // namespace palimpsest::storage
