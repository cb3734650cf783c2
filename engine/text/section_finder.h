// Finds the headings of a document while it streams.
//
// Markdown: "# Title" to "###### Title", and a one-line paragraph underlined by = or -; not inside fenced code.
// Plain text: headings can only be guessed, and a false one costs more than a missed one. Recognised are "Chapter
// 1", "BOOK II", "Part the First: Up River" after a blank line, and short lines in capitals between blank lines.
// All of them have level 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

enum class Markup {
    Plain,
    Markdown,
    Given, // headings are known from the document's format: add()
};

struct Heading {
    int level = 1;     // 1: not within another
    std::string title; // at most 200 bytes, whole characters
    uint64_t first_byte = 0;
    uint64_t first_token = 0; // the token that contains first_byte
};

// Results do not depend on how the text is divided between calls. Memory: the first 256 bytes of two lines (longer
// lines are no headings), and headings found in text whose tokens were not pushed yet. Stops after 10,000 headings.
class SectionFinder {
public:
    explicit SectionFinder(Markup markup) : markup_(markup) {}

    // For Markup::Given, in order, and before the token that contains `first_byte` is pushed.
    void add(int level, std::string_view title, uint64_t first_byte);
    void push(std::string_view clean); // text as written by Utf8Cleaner
    // The tokens of that text, with their byte ranges; they may lag behind it.
    void push(std::span<const EncodedToken> tokens);
    void finish(); // after the last text and token
    // Returns and removes, in order, the headings whose first token is known.
    std::vector<Heading> take();

private:
    struct Line {
        uint64_t begin = 0;
        std::optional<uint64_t> token{}; // the token that contains the first byte, once pushed
        std::string text{};
        bool overlong = false;
        bool after_gap = false; // follows a blank line, a heading or the start of the text
        bool waits = false;     // is a heading if the next line confirms it
        bool is_heading = false;

        std::string_view trimmed() const;
        bool blank() const { return !overlong && trimmed().empty(); }
    };

    void end_line();
    void judge_plain();
    void judge_markdown();
    bool in_fence();
    void note(Line& line, int level, std::string_view title);
    void place(Line& line, const EncodedToken& token) const;

    Markup markup_;
    Line before_, line_{.after_gap = true};
    char fence_ = 0; // marker of the code block that the line is in; 0: none
    size_t fence_length_ = 0;
    uint64_t bytes_ = 0, tokens_ = 0;
    std::vector<Heading> found_;
    size_t placed_ = 0; // number of headings in found_ whose token is known
    size_t noted_ = 0;
};

} // namespace palimpsest::engine
