// Word documents (Office Open XML): text with headings, lists, tables and notes; deleted and hidden text is left
// out.
#pragma once

#include "app/reader/text_writer.h"
#include "app/reader/zip_archive.h"

namespace palimpsest::reader {

bool is_docx(const ZipArchive& archive);
void parse_docx(ZipArchive& archive, TextWriter& writer);

} // namespace palimpsest::reader
