// Values as text: Python's str and repr, and json.dumps.
#pragma once

#include <optional>
#include <string>

#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

// What {{ value }} prints. Undefined prints nothing.
std::string to_text(const Value& value, Meter& meter);
std::string repr(const Value& value, Meter& meter);
std::string float_text(double number); // the shortest digits that read back as the number, as Python writes them

// As json.dumps writes it, by default with "ensure_ascii=False".
struct JsonStyle {
    std::optional<std::string> indent{}; // null: all on one line
    std::string item_separator = ", ", key_separator = ": ";
    bool sort_keys = false, ensure_ascii = false;
};
// Throws Error (PAL-TEMPLATE-03) for a value that JSON does not have.
std::string to_json(const Value& value, const JsonStyle& style, Meter& meter);

} // namespace palimpsest::engine::jinja
