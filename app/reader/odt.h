// OpenDocument text: headings, lists, tables and notes; deleted text and comments are left out.
#pragma once

#include "app/reader/text_writer.h"
#include "app/reader/zip_archive.h"

namespace palimpsest::reader {

bool is_odt(ZipArchive& archive);
void parse_odt(ZipArchive& archive, TextWriter& writer);

} // namespace palimpsest::reader
