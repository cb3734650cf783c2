// Text of scripts that are written without spaces between words (Chinese, Japanese, Thai …), which FTS5 takes for
// one long word.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace palimpsest::storage {

bool is_unspaced(char32_t code); // whether the letter is of such a script

// Two neighbouring letters of such scripts, or a letter that stands alone and 0: what a search can look for in
// place of words.
using LetterPair = std::pair<char32_t, char32_t>;

// Without repetition, the first `max_pairs`; none in text of other scripts.
std::vector<LetterPair> letter_pairs(std::string_view text, size_t max_pairs);

// Looks for many pairs at once.
class PairFinder {
public:
    explicit PairFinder(std::span<const LetterPair> pairs);
    // Returns which of the pairs the text has, ascending. Cost: one pass over the text.
    std::vector<size_t> find_in(std::string_view text) const;

private:
    std::unordered_map<uint64_t, size_t> indices_;
};

} // namespace palimpsest::storage
