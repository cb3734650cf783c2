// The blocks in which a document's text and tokens are stored; docs/formats.md says what each kind holds.
#pragma once

#include <cstdint>

namespace palimpsest::storage {

// The numbers are those of the database. Starts: where a block of tokens begins in the text, as a byte offset
// (u64).
enum class DocumentBlock { CleanText = 0, TokenIds = 1, Lengths = 2, Starts = 3, ReaderNotes = 4 };

inline constexpr uint64_t text_block_bytes = 256 * 1024; // except a document's last block
inline constexpr uint64_t tokens_per_block = 65536;      // likewise

} // namespace palimpsest::storage
