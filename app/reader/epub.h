// EPUB 2 and 3: the content documents in the order of the spine, with the titles of the table of contents.
#pragma once

#include "app/reader/text_writer.h"
#include "app/reader/zip_archive.h"

namespace palimpsest::reader {

bool is_epub(ZipArchive& archive);
void parse_epub(ZipArchive& archive, TextWriter& writer);

} // namespace palimpsest::reader
