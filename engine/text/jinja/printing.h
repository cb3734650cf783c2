// Values as text: Python's str and repr, and json.dumps.
#pragma once

#include <optional>
#include <string>

#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

// The text that {{ value }} prints; empty for undefined.
std::string to_text(const Value& value, Meter& meter);
std::string repr(const Value& value, Meter& meter);
std::string float_text(double number); // the shortest digits that parse to the same number, in Python's format

// The style of json.dumps, by default with "ensure_ascii=False".
struct JsonStyle {
    std::optional<std::string> indent{}; // empty: all on one line
    std::string item_separator = ", ", key_separator = ": ";
    bool sort_keys = false, ensure_ascii = false;
};
// Throws Error (PAL-TEMPLATE-03) for a value that JSON cannot represent.
std::string to_json(const Value& value, const JsonStyle& style, Meter& meter);

} // namespace palimpsest::engine::jinja
