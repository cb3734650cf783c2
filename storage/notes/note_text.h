// Trims a text that a model has written: no repetition, and nothing that its source does not hold.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/notes/note.h"

namespace palimpsest::storage {

struct TrimmedText {
    std::string text{};
    bool repeats = false; // it said something a second time, and was cut before that
    bool operator==(const TrimmedText&) const = default;
};

// Cuts a text before it repeats itself (a sentence, or six words in a row that were there before) and after
// `max_words` (end_of_words); back to the end of a sentence if there is one, otherwise with "..." behind. `ended`:
// the model ended the text itself, so that its last sentence is whole. Lines and lists become one paragraph.
TrimmedText trimmed(std::string_view text, size_t max_words, bool ended);
// Whether the text repeats itself, and generating more of it is in vain.
bool repeats_itself(std::string_view text);
// Returns the text with its lines and list marks. One that repeats itself is cut before that, back to the end of a
// sentence if there is one, otherwise with "..." behind.
std::string without_repetition(std::string_view text);

// The names and numbers of a text that its source does not hold. A name is a word with a capital letter that stands
// so in the source. Where a sentence begins, any word counts, unless it is a function word of English, or one that
// often begins a sentence, or stands in the source with a small letter: an invented name often stands there.
std::vector<std::string> invented_in(std::string_view text, std::string_view source);

// A text of several sentences without those that say again what was said (and without all that follows them), and
// without those that name what their source does not hold.
struct CheckedText {
    std::string text{};
    size_t left_out = 0;  // sentences with an invented name or number
    size_t kept = 0;      // sentences
    bool repeats = false; // as TrimmedText
};
CheckedText checked(std::string_view text, std::string_view source);

struct KeptLength {
    size_t words = 0;     // at most
    size_t sentences = 0; // of what is quoted, at most
};
struct KeptText {
    std::string text{};
    std::string refused{}; // what was written, if the source is quoted in its place
    NoteOrigin origin = NoteOrigin::Written;
    bool repeats = false; // as TrimmedText
    bool operator==(const KeptText&) const = default;
};
// The text that a model has written about a source, trimmed; or, if it is not about it or names what source and
// heading do not hold, sentences of the source (telling_sentences.h). `ended`: as for trimmed.
KeptText kept_or_quoted(std::string_view written, bool ended, std::string_view heading, std::string_view source,
                        const KeptLength& length);

// Whether the text is about its source: it has at least 8 words, and at least two thirds of its content words stand
// there, compared by their first five letters. One that speaks of its source as a text ("this passage") is not,
// unless the source does so, too.
bool is_about(std::string_view text, std::string_view source);

// Whether the text is about all of its sources, which stand in their order, and not only about some: of each of
// four equal parts of them (or of fewer, if there are fewer sources), it has two words that only that part has.
bool is_about_all(std::string_view text, std::span<const std::string> sources);

} // namespace palimpsest::storage
