// The words of a text, as they are compared: without punctuation, in small letters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

// Runs of letters and digits; every character beyond ASCII that is no wide_mark counts as a letter. A comma or a
// point between digits belongs to their number. Views into `text`.
std::vector<std::string_view> words_in(std::string_view text);
// In small letters of A to Z, and without the commas that group digits.
std::string plain_word(std::string_view word);
// The number of bytes of the punctuation mark or space beyond ASCII that the text begins with; 0 if it begins with
// something else.
size_t wide_mark(std::string_view text);
// The first five bytes of a plain word, which most forms of a word have in common.
std::string rough_stem(std::string_view word);
// Whether the first letter is a capital of the Latin, Greek or Cyrillic alphabet.
bool begins_with_capital(std::string_view word);
// Whether a plain word is one of English that stands for something said before, such as "his" or "there".
bool is_pronoun(std::string_view word);
// Whether these words, of English or German, begin with "and" or "und".
bool continues_what_was_said(const std::vector<std::string_view>& words);
// Where the first `most` words end, at most 12 bytes for each: a text without spaces, such as Chinese, is one word
// from mark to mark. The text's size if it has no more; never within a UTF-8 character.
size_t end_of_words(std::string_view text, size_t most);

} // namespace palimpsest::storage
