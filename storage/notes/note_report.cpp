#include "storage/notes/note_report.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/byte_quantity.h"

namespace palimpsest::storage {
namespace {

struct Costs {
    size_t quoted = 0;
    uint64_t tokens = 0;
    double seconds = 0;
};

Costs costs_of(std::span<const Note> notes)
{
    Costs costs;
    for (const Note& note : notes) {
        costs.quoted += note.origin == NoteOrigin::Quoted;
        costs.tokens += note.tokens;
        costs.seconds += note.seconds;
    }
    return costs;
}

// The part of the document that the note is about, as a passage.
StoredPassage passage_of(const Note& note)
{
    return {.document = note.document,
            .first_token = note.about.first_token,
            .end_token = note.about.end_token,
            .first_byte = note.about.first_byte,
            .end_byte = note.about.end_byte,
            .section = note.about.section};
}

} // namespace

Text place_of(const Note& note, PassagePlaces& places)
{
    return places.sentence(passage_of(note), false);
}

Text summary_of(std::span<const Note> notes)
{
    const Costs costs = costs_of(notes);
    return Text("{0} notes, of which {1} are quoted; {2} tokens, {3} s", format_count(notes.size()),
                format_count(costs.quoted), format_count(costs.tokens), std::lround(costs.seconds));
}

nlohmann::ordered_json note_json(const Note& note, PassagePlaces& places)
{
    nlohmann::ordered_json json = places.json(passage_of(note));
    json["origin"] = note.origin == NoteOrigin::Written ? "written" : "quoted";
    json["repeats"] = note.repeats;
    json["text"] = note.text;
    json["refused"] =
        note.origin == NoteOrigin::Quoted ? nlohmann::ordered_json(note.refused) : nlohmann::ordered_json();
    return json;
}

nlohmann::ordered_json outline_json(std::span<const Note> notes, PassagePlaces& places)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Note& note : notes)
        all.push_back(note_json(note, places));
    return all;
}

nlohmann::ordered_json costs_json(std::span<const Note> notes)
{
    const Costs costs = costs_of(notes);
    return {
        {"count", notes.size()}, {"quoted", costs.quoted}, {"tokens", costs.tokens}, {"seconds", costs.seconds}};
}

} // namespace palimpsest::storage
