// Parses untrusted JSON: no comments, no NaN, no duplicate keys, no trailing content, bounded depth and size.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

struct JsonLimits {
    int depth;     // of nested objects and arrays
    size_t values; // in the whole text; each takes about 150 bytes of memory
};

// Linear time; no recursion on the depth of the text. Reports errors through `refuse`, with the code `rule`.
nlohmann::json parse_strict_json(std::string_view text, JsonLimits limits, const Refusal& refuse, ErrorCode rule);

} // namespace palimpsest::engine
