// The escapes of a string in a template: Python's.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::engine::jinja {

// The text between the quotes with its escapes replaced; an unknown escape stays as it is. Throws Error (Failed,
// PAL-TEMPLATE-01) of `line` for a malformed one.
std::string without_escapes(std::string_view inside, int line);

} // namespace palimpsest::engine::jinja
