// Finds the stored document that a user names.
#pragma once

#include <string>

#include "storage/library.h"

namespace palimpsest::app {

// By its number, title, or the path of its file, whichever is found first. Throws Error: NotFound (PAL-DOC-00), or
// Usage if several documents have the title.
storage::DocumentInfo library_document(storage::Library& library, const std::string& name);

} // namespace palimpsest::app
