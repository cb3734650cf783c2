// Escapes in a template's strings: those of Python.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::engine::jinja {

// Replaces the escapes in the text between the quotes; unknown ones are kept. Throws Error (Failed,
// PAL-TEMPLATE-01) for `line` if one is malformed.
std::string without_escapes(std::string_view inside, int line);

} // namespace palimpsest::engine::jinja
