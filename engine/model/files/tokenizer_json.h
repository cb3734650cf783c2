// Reads tokenizer.json, written by the tokenizers library (github.com/huggingface/tokenizers), for models of type
// BPE: byte-level ones with a known pre-tokenizer, and character vocabularies with byte fallback that were
// converted from sentencepiece.
//
// Strict JSON within limits; regular expressions from the file are never executed. Unsupported settings that would
// change token ids are reported by name.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/model/files/refusal.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// A well-formed file that requires an unsupported feature; text() names it.
class UnsupportedTokenizer : public std::exception {
public:
    explicit UnsupportedTokenizer(Text text) : text_(std::move(text)), sentence_(text_.english()) {}

    const Text& text() const { return text_; }
    const char* what() const noexcept override { return sentence_.c_str(); } // in English

private:
    Text text_;
    std::string sentence_;
};

struct TokenizerJson {
    Vocabulary vocabulary;                        // Kind::Bpe; bos and add_bos from the post-processor, eos unset
    std::unordered_map<std::string, TokenId> ids; // by piece, added tokens included
};

// `rows`: rows of the embedding; every id must be below. Throws Error (PAL-MODEL-T1 to T7) for damaged files, and
// UnsupportedTokenizer.
TokenizerJson read_tokenizer_json(std::string_view text, uint64_t rows, const Refusal& refuse);

} // namespace palimpsest::engine
