// Cuts a document into passages of about a paragraph, which are searched and read again one by one.
//
// The passages cover the document in order and without gaps, in whole tokens. A heading begins a passage, unless
// only headings stand before it; otherwise no passage extends beyond the next heading. Short paragraphs are joined
// until they have 80 tokens. What is longer than 240 is cut at the last end of a sentence that leaves at least 80,
// else between words, else between characters. Only the last passage before a heading, or of the document, may be
// shorter than 80.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/break_scanner.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

struct Passage {
    uint64_t first_token = 0, end_token = 0; // half-open
    uint64_t first_byte = 0, end_byte = 0;   // of the cleaned text; the bytes of these tokens
    int64_t section = -1;                    // index of the heading that it belongs to; -1: before the first
    std::string text{};                      // these bytes
};

// The passages do not depend on how text and tokens are divided between calls. Memory: one passage, and text whose
// tokens were not pushed yet.
class PassageCutter {
public:
    static constexpr uint64_t min_tokens = 80, max_tokens = 240;

    // `headings`: the byte at which each heading begins, ascending.
    explicit PassageCutter(std::vector<uint64_t> headings) : headings_(std::move(headings)) {}

    // Cleaned text (Utf8Cleaner).
    void push(std::string_view clean);
    // Where the next tokens end, in bytes of the text so far. REQUIRES: their text was pushed.
    void push(std::span<const uint64_t> token_ends);
    void finish(); // after the last text and token
    // Returns and removes, in order, the passages that are complete.
    std::vector<Passage> take();

private:
    // Where a passage may begin; a later kind is preferred to an earlier one.
    enum class Start { Word, Sentence, Paragraph, Heading };
    struct FoundBreak {
        uint64_t byte = 0;
        Start kind = Start::Word;
    };
    struct TokenBreak {
        uint64_t token = 0; // contains the byte
        Start kind = Start::Word;
    };

    static Start kind_of(Break found);
    void scan(char32_t character, size_t bytes);
    void add_token(uint64_t end);
    void begin_with(Start kind);
    bool has_only_headings() const;
    uint64_t best_cut() const;
    uint64_t character_start(uint64_t token) const;
    void cut_before(uint64_t token);
    uint64_t start_of(uint64_t token) const; // in bytes
    void forget_text();

    std::vector<uint64_t> headings_;
    size_t next_heading_ = 0; // in text
    int64_t section_ = -1;    // of the passage that is being collected

    std::string text_; // from text_origin_ on; the passage begins at text_begin_
    uint64_t text_origin_ = 0, text_begin_ = 0, scanned_ = 0;

    Utf8Decoder decoder_;
    BreakScanner scanner_;
    std::deque<FoundBreak> found_; // in text whose tokens were not pushed yet

    uint64_t first_ = 0, tokens_ = 0;  // first token of the passage, and the number of tokens so far
    std::vector<uint64_t> token_ends_; // of the passage
    std::vector<TokenBreak> breaks_;   // within the passage
    bool begins_with_heading_ = false;
    std::vector<Passage> complete_;
};

} // namespace palimpsest::engine
