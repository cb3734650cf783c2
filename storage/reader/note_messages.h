// The notes of a reader on one document as bytes: its messages of this kind, one after the other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::storage {

constexpr size_t most_note_bytes = 256 * 1024; // of all notes on one document

// Leaves out the notes from the first on that does not fit into most_note_bytes.
std::string encoded_notes(std::span<const Text> notes);
// Checks them as those of a reader; empty if they are damaged.
std::vector<Text> decoded_notes(std::string_view bytes);

} // namespace palimpsest::storage
