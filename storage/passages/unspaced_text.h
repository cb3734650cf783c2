// Text of scripts that are written without spaces between words (Chinese, Japanese, Thai …), which FTS5 takes for
// one long word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

bool is_unspaced(char32_t code); // whether the letter is of such a script

// Every two neighbouring letters of such scripts, without repetition, and letters that stand alone: what a search
// can look for in place of words. At most `most`; none in text of other scripts.
std::vector<std::string> letter_pairs(std::string_view text, size_t most);

} // namespace palimpsest::storage
