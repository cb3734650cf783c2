// Methods of strings, lists and dicts, and what filters share with them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/runtime.h"

namespace palimpsest::engine::jinja {

Native find_string_method(std::string_view name); // null: there is none of this name

// The method format.
Value format_braces(Runtime& runtime, const Value& self, ArgumentReader& arguments);

// As str.splitlines and str.replace; `most` below 0: all. The caller charges for reading `text`.
std::vector<std::string> lines_of(std::string_view text, bool keeps_ends);
std::string replaced(std::string_view text, const std::string& from, const std::string& to, int64_t most,
                     Meter& meter);

// The (key, value) tuples of a dict.
Value items_of(const Dict& dict, Meter& meter);

} // namespace palimpsest::engine::jinja
