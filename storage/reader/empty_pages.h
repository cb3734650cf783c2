// The note that names the pages of a document without text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/base/text.h"

namespace palimpsest::storage {

// `labels`: of the pages without text; the first 20 are named. `pages`: of the document. REQUIRES: !labels.empty()
Text empty_pages_words(std::span<const std::string> labels, size_t pages);

} // namespace palimpsest::storage
