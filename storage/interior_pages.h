// Makes the inner pages of a table anew from the pages below them.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

// Writes the interior pages of tables that are no page of a tree any more, as those of the pages that name them as
// their parent in the pointer map (https://sqlite.org/fileformat2.html, "Pointer Map or Ptrmap Pages"). What is
// below a page that cannot be read itself stays out. REQUIRES: pages of 8 KiB, no write-ahead log, and nobody has
// the file open. Returns whether anything was written. Takes 8 bytes of memory per page.
bool rebuild_interior_pages(const std::filesystem::path& file);

} // namespace palimpsest::storage
