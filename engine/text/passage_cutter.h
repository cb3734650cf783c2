// Cuts a document into passages of about a paragraph, which are searched and read again one by one.
//
// The passages cover the document in order and without gaps, in whole tokens. A heading always begins a passage,
// and no passage extends beyond the next one. Short paragraphs are joined until they have 80 tokens. What is longer
// than 240 is cut at the last end of a sentence that leaves at least 80, else between words, else between
// characters; only the last passage before a heading, or of the document, may be shorter than 80.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    // A place where a passage may begin, in order of preference.
    enum class Break { Word, Sentence, Paragraph, Heading };
    struct Place {
        uint64_t at = 0; // a byte when found in text, then the token that contains it
        Break kind = Break::Word;
    };

    void scan(char c);
    Break break_before(char c) const;
    void add_token(uint64_t end);
    void begin_at(const Place& place);
    uint64_t best_cut() const;
    uint64_t character_start(uint64_t token) const;
    void cut_before(uint64_t token);
    uint64_t start_of(uint64_t token) const; // in bytes

    std::vector<uint64_t> headings_;
    size_t next_heading_ = 0; // in text
    int64_t section_ = -1;    // of the passage that is being collected

    // The text from the first byte of that passage on, and what the scanner knows of its end.
    std::string text_;
    uint64_t text_begin_ = 0, scanned_ = 0;
    int line_ends_ = 0; // in the white space before the next character
    bool after_space_ = true;
    std::vector<Place> found_; // in text whose tokens were not pushed yet

    uint64_t first_ = 0, tokens_ = 0;  // first token of the passage, and the number of tokens so far
    std::vector<uint64_t> token_ends_; // of the passage
    std::vector<Place> breaks_;        // within the passage
    std::vector<Passage> complete_;
};

} // namespace palimpsest::engine
