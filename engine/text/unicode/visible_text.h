// Text of documents and models with everything visible that hides, moves the cursor or turns other text.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::engine {

// Escapes invalid UTF-8 (\xff), control characters other than line feed and tab (\x1b), and characters that are
// invisible or override the direction of text (\u{202e}). Keeps the joiners U+200C and U+200D and the direction
// marks U+061C, U+200E and U+200F, which some scripts are spelt with.
std::string visible(std::string_view text);

// Like visible(), and line feeds and tabs become spaces, so that the text stays on one line.
std::string visible_line(std::string_view text);

// Text that has right-to-left characters, between U+2068 and U+2069: on one line with other text, it reorders
// nothing but itself. Other text is returned unchanged. REQUIRES: visible text, whose own isolates are escaped.
std::string isolated(std::string visible);

} // namespace palimpsest::engine
