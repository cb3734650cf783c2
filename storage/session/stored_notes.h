// The notes that the reader process gave while it parsed a stored document, such as which pages have no text.
#pragma once

#include <vector>

#include "kernels/base/text.h"
#include "storage/library.h"

namespace palimpsest::storage {

// On what could not be read as it should be, in the order in which it was told. Where an earlier version stored the
// document, or its notes are damaged: only that on pages without text of a PDF file.
std::vector<Text> notes_of_reader(Library& library, const DocumentInfo& document);

} // namespace palimpsest::storage
