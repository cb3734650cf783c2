// The filters of templates: text_filters.cpp and sequence_filters.cpp contain a table each.
#pragma once

#include <string>
#include <string_view>

#include "engine/text/jinja/runtime.h"

namespace palimpsest::engine::jinja {

Native find_text_filter(std::string_view name); // null: unknown name
Native find_sequence_filter(std::string_view name);

// The text that a filter works on: strings unchanged, other values as they would be printed.
std::string filter_text(Runtime& runtime, const Value& input);

} // namespace palimpsest::engine::jinja
