// The known pre-tokenizers as data.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace palimpsest::engine {

struct PreTokenizerEntry {
    std::string_view name;
    // Matches one segment, from left to right; no pre-token crosses its end. Matches at any position of any text.
    // \s and \S are translated (pre_tokenizer.h).
    std::string_view segments;
    // Expressions that split a segment further, one after the other: matches and the text between them are pieces.
    std::span<const std::string_view> steps;
    // The forms in which tokenizer.json files publish it.
    std::span<const std::span<const std::string_view>> published;
};

std::span<const PreTokenizerEntry> pre_tokenizer_table();

struct GgufPreTokenizerEntry {
    std::string_view gguf_name, name;
    bool adds_bos, ignore_merges;
};

std::span<const GgufPreTokenizerEntry> gguf_pre_tokenizer_table();

} // namespace palimpsest::engine
