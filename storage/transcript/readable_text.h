// Text of documents and models as a transcript shows it.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::storage {

// Escapes invalid UTF-8, control characters other than line feed and tab, and characters that are invisible or
// change the direction of text, as in \xe2\x80\xae. Keeps the joiners U+200C and U+200D, which some scripts are
// spelt with.
std::string readable(std::string_view text);
// Like readable(), and line feeds and tabs become spaces, so that the text stays on one line.
std::string readable_line(std::string_view text);

} // namespace palimpsest::storage
