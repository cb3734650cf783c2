// Decides what a file is by its contents, and lets the parser of that format write its text.
#pragma once

#include <string_view>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

// `ending`, such as ".html", decides where contents do not. Throws Problem.
void parse_document(std::string_view document, std::string_view ending, TextWriter& writer);

} // namespace palimpsest::reader
