// Parses a template's source into a syntax tree.
#pragma once

#include <string_view>

#include "engine/text/jinja/syntax.h"

namespace palimpsest::engine::jinja {

// REQUIRES: valid UTF-8. Throws Error (Failed): PAL-TEMPLATE-01 for invalid syntax, -02 for an unsupported tag, -04
// for tags that are nested too deeply.
syntax::Block parse(std::string_view source);

} // namespace palimpsest::engine::jinja
