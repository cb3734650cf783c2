// PDF, by Qt Pdf: text in reading order, the outline as sections, pages with their labels. Scanned pages are
// counted.
#pragma once

#include <string_view>

#include "app/reader/text_writer.h"

namespace palimpsest::reader {

inline bool is_pdf(std::string_view document)
{
    return document.substr(0, 1024).find("%PDF-") != std::string_view::npos;
}

void parse_pdf(std::string_view document, TextWriter& writer);

} // namespace palimpsest::reader
