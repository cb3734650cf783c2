// A note: in a few words, what a stretch of a document says.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace palimpsest::storage {

// A part of a document that one note is about: a section, a part of a long one, or several very short ones.
struct Stretch {
    uint64_t first_token = 0, end_token = 0; // of the document, half-open
    uint64_t first_byte = 0, end_byte = 0;   // of its cleaned text, half-open
    int64_t section = -1;                    // the one with most of its tokens; -1: before the first

    uint64_t tokens() const { return end_token - first_token; }
    bool operator==(const Stretch&) const = default;
};

enum class NoteOrigin {
    Written = 0, // by the model; every name and number in it stands in the stretch
    Quoted = 1   // sentences of the stretch, verbatim, as the model's own note was refused
};

struct Note {
    int64_t document = 0;
    Stretch about{};
    NoteOrigin origin = NoteOrigin::Written;
    bool repeats = false;  // the model repeated itself, and was cut before that
    std::string text{};    // a quoted one has "..." where sentences are left out between two
    std::string refused{}; // what the model wrote; of a quoted note
    uint64_t tokens = 0;   // fed and generated to make it; with the stretch, if it was read again for that
    double seconds = 0;    // that it took
    bool operator==(const Note&) const = default;
};

} // namespace palimpsest::storage
