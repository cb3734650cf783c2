// Text from a model or a document, made fit for a terminal, and results written so that a full disk is noticed.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>

namespace palimpsest::app {

// Control characters other than line feed and tab, and bidirectional overrides, as visible escapes (rule R2).
// REQUIRES: whole UTF-8 characters.
std::string visible(std::string_view text);

// One JSON document and a line end. Foreign bytes that are not UTF-8 become U+FFFD.
void write_json(std::ostream& out, const nlohmann::ordered_json& document);

// Flushes. Throws Error (Resources, PAL-DISK-01) if something was not written; a closed pipe is quiet (see
// PipeClosed).
void finish_output(std::ostream& out);
struct PipeClosed {};

// One line of --events on standard error.
void write_event(std::ostream& err, const nlohmann::ordered_json& object);

} // namespace palimpsest::app
