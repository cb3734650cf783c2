// Notes as they are reported.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "kernels/base/text.h"
#include "storage/notes/note.h"
#include "storage/passages/passage_places.h"

namespace palimpsest::storage {

// "CHAPTER II, tokens 1,200 to 3,100"
Text place_of(const Note& note, PassagePlaces& places);
// "12 notes, of which 7 are quoted; 4,100 tokens, 92 s"
Text summary_of(std::span<const Note> notes);

// docs/formats.md, Notes
nlohmann::ordered_json note_json(const Note& note, PassagePlaces& places);
nlohmann::ordered_json outline_json(std::span<const Note> notes, PassagePlaces& places);
nlohmann::ordered_json costs_json(std::span<const Note> notes);

} // namespace palimpsest::storage
