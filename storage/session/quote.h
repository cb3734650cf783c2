// A stretch of a document, verbatim: a sentence, or some that follow one another.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/base/text.h"
#include "storage/passage_index.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

struct Quote {
    std::string text;
    StoredPassage place; // its bytes and tokens; document, index and section of its passage

    Text sentence(Store& store) const;               // `"He saw it." (CHAPTER II, tokens 1,200 to 1,204)`
    nlohmann::ordered_json json(Store& store) const; // docs/formats.md, Answers and turns
};

// The bytes [first, end) of the passage's text. Cost: a look-up of where the passage's tokens end.
Quote quote_from(const StoredPassage& passage, std::string_view text, size_t first, size_t end, Store& store);

} // namespace palimpsest::storage
