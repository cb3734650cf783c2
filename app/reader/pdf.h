// PDF, by Qt Pdf: text in reading order, the outline as sections, pages with their labels. Scanned pages are
// counted.
#pragma once

#include <string_view>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

void parse_pdf(std::string_view document, TextWriter& writer);

} // namespace palimpsest::reader
