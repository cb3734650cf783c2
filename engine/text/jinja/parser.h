// A template's source as a syntax tree.
#pragma once

#include <string_view>

#include "engine/text/jinja/syntax.h"

namespace palimpsest::engine::jinja {

// REQUIRES: valid UTF-8. Throws Error (Failed): PAL-TEMPLATE-01 for what is no template, -02 for a tag that is not
// supported, -04 for one that is nested too deeply.
syntax::Block parse(std::string_view source);

} // namespace palimpsest::engine::jinja
