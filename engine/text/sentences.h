// The sentences of a text, and windows of sentences.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

// Bytes [begin, end) of a text.
struct TextRange {
    size_t begin = 0, end = 0;
    std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
    bool operator==(const TextRange&) const = default;
};

// In order, without the white space around them. The end of a paragraph ends a sentence.
std::vector<TextRange> sentences(std::string_view text);

// Ranges that begin with a sentence and have the fewest sentences that are `least` bytes long together. Every
// sentence begins one, but the next begins at least a quarter of `least` bytes after it. The last window is the
// first that has the last sentence: what would follow is in it.
std::vector<TextRange> sentence_windows(const std::vector<TextRange>& sentences, size_t least);

} // namespace palimpsest::engine
