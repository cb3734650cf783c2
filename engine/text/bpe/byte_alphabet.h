// The 256 characters with which byte-level BPE vocabularies spell bytes (Radford et al. 2019, "Language Models are
// Unsupervised Multitask Learners"; bytes_to_unicode of the GPT-2 release): printable Latin-1 characters stand for
// themselves, the other bytes for U+0100, U+0101, ... in the order of their values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// The character that spells a byte.
char32_t byte_character(uint8_t byte);

// The bytes that a piece spells; nothing if it has a character outside of the alphabet. REQUIRES: valid UTF-8.
std::optional<std::string> spelled_bytes(std::string_view piece);

} // namespace palimpsest::engine
