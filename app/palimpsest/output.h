// Output helpers: makes text from a model or document safe for a terminal, and detects failed writes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

#include "engine/text/unicode/visible_text.h"

namespace palimpsest::app {

using engine::visible;

// A text on one line within a sentence: it neither moves the cursor nor reorders what stands around it. A program
// that reads the line would take the marks against the latter for a part of the text.
std::string row_text(std::string_view text, bool for_people = true);

std::string utc(int64_t milliseconds); // since 1970: "2026-11-27 15:30 UTC"

// Writes one JSON document and a line feed. Invalid UTF-8 becomes U+FFFD.
void write_json(std::ostream& out, const nlohmann::ordered_json& document);

// Flushes. Throws Error (Resources, PAL-DISK-01) if output was lost, or PipeClosed, which is not reported to the
// user.
void finish_output(std::ostream& out);
struct PipeClosed {};

// Writes one JSON line to standard error.
void write_event(std::ostream& err, const nlohmann::ordered_json& object);

} // namespace palimpsest::app
