// The names and numbers of a text: what can be looked up in another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

// Words with a capital letter, without "I". One that begins a sentence counts if another such word
// follows, or if the sentence has at most three words and it is no function word.
std::vector<std::string> names_in(std::string_view text);
// Words with digits, as "1,200" without its comma, and English number words, in small letters.
std::vector<std::string> numbers_in(std::string_view text);
// Whether the text has these words, one behind another, as whole words; capital and small letters are the same.
bool has_words(std::string_view text, std::string_view words);

} // namespace palimpsest::storage
