// The rows of notes and their checksums, for what copies them. What a note is, is told in storage/notes/note.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/database.h"

namespace palimpsest::storage {

// `numbers`: first_token, end_token, first_byte, end_byte, section, origin and repeats, as they are stored.
int64_t hash_of_note(std::span<const uint64_t> numbers, const std::string& text, const std::string& refused);

// Rows of a session that do not match their checksums. Both read all of its rows.
size_t count_damaged_notes(Database& database, int64_t session);
size_t remove_damaged_notes(Database& database, int64_t session); // returns how many

} // namespace palimpsest::storage
