// The filters of templates, in two tables.
#pragma once

#include <string>
#include <string_view>

#include "engine/text/jinja/runtime.h"

namespace palimpsest::engine::jinja {

Native find_text_filter(std::string_view name); // null: there is none of this name
Native find_sequence_filter(std::string_view name);

// The text that a filter works on: of a string the string, else what would be printed.
std::string filter_text(Runtime& runtime, const Value& input);

} // namespace palimpsest::engine::jinja
