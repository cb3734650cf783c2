// The direction in which characters and lines are written.
#pragma once

#include <string_view>

namespace palimpsest::engine {

bool is_right_to_left(char32_t code); // of a letter of such a script, or one of its numbers

// Whether more letters of the line are of scripts that are written from right to left than of others. False for a
// line without letters.
bool reads_leftwards(std::string_view line);

} // namespace palimpsest::engine
