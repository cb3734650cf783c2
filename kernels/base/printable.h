#pragma once

#include <string>
#include <string_view>

namespace palimpsest {

// Makes untrusted text safe to show in a message: escapes control characters, invisible characters and invalid
// UTF-8, and truncates to 80 bytes.
std::string printable(std::string_view foreign);

// Whether printable() would escape nothing in the text, whatever its length.
bool is_printable(std::string_view foreign);

} // namespace palimpsest
