// Finds where words, sentences and paragraphs begin in a text.
#pragma once

#include <optional>
#include <string>

namespace palimpsest::engine {

enum class Break { Word, Sentence, Paragraph };

class BreakScanner {
public:
    // Takes the next character, and returns what begins with it. `begins_heading`: it is the first of a heading,
    // whose line is a paragraph of its own; nothing else begins with it then.
    std::optional<Break> push(char32_t character, bool begins_heading = false);

private:
    std::optional<Break> break_before(char32_t character, bool is_space);
    bool is_abbreviation() const;

    // Of the characters before the next.
    int line_ends_ = 0; // in the white space
    bool after_space_ = true, in_heading_ = false;
    // After a full stop and what closes it, and perhaps white space.
    bool after_sentence_ = false, after_wide_stop_ = false;
    std::u32string word_; // its letters so far, at most those of the longest abbreviation and one more
};

} // namespace palimpsest::engine
