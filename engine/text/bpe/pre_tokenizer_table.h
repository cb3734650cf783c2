// The known pre-tokenizers as data.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace palimpsest::engine {

struct PreTokenizerEntry {
    std::string_view name;
    // Matches the next segment, at any position of any text. No pre-token crosses the end of a segment. \s and \S
    // are translated (pre_tokenizer.h).
    std::string_view segments;
    // Expressions that split a segment further, one after the other: matches and the text between them are pieces.
    std::span<const std::string_view> steps;
    // The lists of steps with which tokenizer.json files describe this pre-tokenizer.
    std::span<const std::span<const std::string_view>> published;
};

std::span<const PreTokenizerEntry> pre_tokenizer_table();

struct GgufPreTokenizerEntry {
    std::string_view gguf_name, name;
    bool adds_bos, ignore_merges;
};

std::span<const GgufPreTokenizerEntry> gguf_pre_tokenizer_table();

} // namespace palimpsest::engine
