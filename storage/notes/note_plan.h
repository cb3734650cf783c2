// Divides a document into the stretches that its notes are about.
#pragma once

#include <span>
#include <vector>

#include "storage/notes/note.h"
#include "storage/passage_index.h"

namespace palimpsest::storage {

struct NotePlan {
    // A section with fewer tokens (a heading, a line of contents) is joined to what follows it, up to the first
    // stretch that has as many.
    static constexpr uint64_t min_tokens = 200;
    // A section of more is divided into equal parts of about `part_tokens`, in whole passages. So is text without
    // headings.
    static constexpr uint64_t max_tokens = 3000, part_tokens = 2000;

    // The stretches of a document's passages (PassageIndex::all), in order. They cover it without gaps.
    static std::vector<Stretch> of(std::span<const StoredPassage> passages);
};

} // namespace palimpsest::storage
