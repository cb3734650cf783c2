// The 256 characters in which byte-level BPE vocabularies spell bytes (Radford et al. 2019, "Language Models are
// Unsupervised Multitask Learners"; bytes_to_unicode of the GPT-2 release): printable Latin-1 characters represent
// themselves, and U+0100, U+0101, ... represent the other bytes in ascending order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// The character that spells a byte.
char32_t byte_character(uint8_t byte);

// The bytes that a piece spells; empty if it has a character outside of the alphabet. REQUIRES: valid UTF-8.
std::optional<std::string> spelled_bytes(std::string_view piece);

} // namespace palimpsest::engine
