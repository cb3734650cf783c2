// Methods of strings, lists and dicts, and functions that filters share with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/runtime.h"

namespace palimpsest::engine::jinja {

Native find_string_method(std::string_view name); // null: unknown name

// The method str.format.
Value format_braces(Runtime& runtime, const Value& self, ArgumentReader& arguments);

// Like str.splitlines and str.replace; a negative `most` replaces all. The caller charges the meter (meter.h) for
// reading `text`.
std::vector<std::string> lines_of(std::string_view text, bool keeps_ends);
std::string replaced(std::string_view text, const std::string& from, const std::string& to, int64_t most,
                     Meter& meter);

// The (key, value) tuples of a dict.
Value items_of(const Dict& dict, Meter& meter);

} // namespace palimpsest::engine::jinja
