// Converts the bytes of a document to UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::reader {

struct DecodedText {
    std::string text;    // UTF-8 without a byte-order mark; U+FFFD for what is invalid
    std::string charset; // that the bytes were taken for: "UTF-8", "windows-1252"
};

// By a byte-order mark; else as `declared`, if that is known; else UTF-8 if the bytes are valid; else by what they
// look like.
DecodedText decoded_text(std::string_view bytes, std::string_view declared = {});

// The charset that the beginning of an HTML or XML file declares; empty if it declares none.
std::string declared_charset(std::string_view bytes);

} // namespace palimpsest::reader
