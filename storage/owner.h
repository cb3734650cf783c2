// The process that writes a database, for those that wait for it (storage/owner_lock.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace palimpsest::storage {

// The id of the process that owns the database now. nullopt: none does, or that cannot be told. Holds a lock
// of its own for a moment.
std::optional<std::string> owner_of(const std::filesystem::path& database);

} // namespace palimpsest::storage
