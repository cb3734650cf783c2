// Headings of a document, found while it streams by.
//
// Markdown: "# Title" to "###### Title", and a paragraph of one line underlined by = or -; not inside fenced code.
// Plain text, where a heading can only be guessed, and one that is missed costs less than one that is none:
// "Chapter 1", "BOOK II", "Part the First: Up River" after a blank line, and short lines in capitals between blank
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

enum class Markup { Plain, Markdown };

struct Heading {
    std::string title; // at most 200 bytes, whole characters
    uint64_t first_byte = 0;
    uint64_t first_token = 0; // the one that holds this byte
};

// The same headings however the text is cut. Memory: two lines, of each its first 256 bytes (a longer one is no
// heading), and headings whose tokens are still to come. After 10,000 headings no more are noted.
class SectionFinder {
public:
    explicit SectionFinder(Markup markup) : markup_(markup) {}

    void push(std::string_view clean); // the text as Utf8Cleaner writes it
    // The tokens of that text, ranges in its bytes; they may lag behind it.
    void push(std::span<const EncodedToken> tokens);
    void finish(); // after the last text and token
    // Hands out, in order, the headings whose first token is known.
    std::vector<Heading> take();

private:
    struct Line {
        uint64_t begin = 0;
        std::optional<uint64_t> token{}; // that holds the first byte, once it was pushed
        std::string text{};
        bool overlong = false;
        bool after_gap = false; // a blank line, a heading or nothing before it
        bool waits = false;     // a heading if the next line says so
        bool is_heading = false;

        std::string_view trimmed() const;
        bool blank() const { return !overlong && trimmed().empty(); }
    };

    void end_line();
    void judge_plain();
    void judge_markdown();
    bool in_fence();
    void note(Line& line, std::string_view title);
    void place(Line& line, const EncodedToken& token) const;

    Markup markup_;
    Line before_, line_{.after_gap = true};
    char fence_ = 0; // of the code block the line is in
    size_t fence_length_ = 0;
    uint64_t bytes_ = 0, tokens_ = 0;
    std::vector<Heading> found_;
    size_t placed_ = 0; // of found_: with their token
    size_t noted_ = 0;
};

} // namespace palimpsest::engine
