// The normalisation of BERT's tokenizers, one character at a time, and the character classes that cut a text into
// words (BertNormalizer and BertPreTokenizer of github.com/huggingface/tokenizers).
//
// Characters that Unicode assigned after 2016 may be classed otherwise than there, because that library keeps older
// tables: their punctuation ends a word here, and their marks are removed. No published vocabulary has them.
#pragma once

#include <array>
#include <cstdint>

namespace palimpsest::engine {

struct BertNormalization {
    bool clean_text = true;        // removes controls and U+FFFD; other white space becomes U+0020
    bool spaces_ideographs = true; // puts a space before and after each ideograph
    bool strip_accents = true;     // decomposes (NFD) and removes nonspacing marks
    bool lowercase = true;
};

// The characters that replace one character of a text. There are none if it is removed, and several if it is
// decomposed (NFD) or is an ideograph, which gets a space before and after it.
struct NormalizedCharacters {
    std::array<char32_t, 12> codes{};
    int count = 0;

    const char32_t* begin() const { return codes.data(); }
    const char32_t* end() const { return codes.data() + count; }
};

NormalizedCharacters normalize_for_bert(char32_t code, const BertNormalization& settings);

// Separates words and belongs to none.
bool is_bert_space(char32_t code);
// Is a word of its own.
bool is_bert_punctuation(char32_t code);

} // namespace palimpsest::engine
