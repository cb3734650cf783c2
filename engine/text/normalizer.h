// The character mapping of a model's training text, applied to text just before the tokenizer, with a map from
// every byte of the result back to the source.
//
// "books-1" is the mapping of the default model (recipe/corpus.py, `normalize`). Quotes and primes become ' and ";
// an en dash between digits becomes a hyphen; other dashes become -- and lose the spaces around them; an ellipsis
// or a run of dots becomes three dots; unusual spaces and runs of spaces become one space; zero-width characters
// are removed; long s and ligatures are spelled out. NFC comes last. "nfc" applies only NFC (Unicode normalisation
// form C, UAX #15), as the tokenizers of the Qwen family expect. "" changes nothing.
//
// One pass, constant memory. The result does not depend on how the text is split into pieces. A combining sequence
// of more than 32 characters is composed in parts (UAX #15, Stream-Safe Text Format, allows 30 marks).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// Maps positions in normalised text to offsets in its source. Stores anchors only where lengths differ.
class OffsetMap {
public:
    // The source offset of the character that begins at `position` of the normalised text; inside the replacement
    // of one source character, that character's end. Never decreases as `position` grows. REQUIRES: position has
    // not been forgotten.
    uint64_t source(uint64_t position) const;
    // Notes that the normalised text from `position` on comes from the source from `source` on. REQUIRES: neither
    // is smaller than in the call before.
    void add(uint64_t position, uint64_t source);
    // Discards anchors that are needed only for positions before `position`.
    void forget(uint64_t position);
    size_t anchors() const { return anchors_.size(); }

private:
    struct Anchor {
        uint64_t position, source;
    };
    // Ascending; if empty, source == position. Two anchors have the same position where source characters were
    // removed: `source` of the first is where they begin, and of the second, where they end.
    std::deque<Anchor> anchors_;
};

class Normalizer {
public:
    // Throws Error (Failed, PAL-MODEL-13) for a name this version does not know.
    explicit Normalizer(std::string_view name);
    Normalizer(Normalizer&&) noexcept;
    Normalizer& operator=(Normalizer&&) noexcept;
    ~Normalizer();

    // Appends normalised text to `out` and its anchors to `map`. Positions and source offsets count from the start
    // of the stream. Invalid UTF-8 becomes U+FFFD, except for "".
    void push(std::string_view bytes, std::string& out, OffsetMap& map);
    void finish(std::string& out, OffsetMap& map);

private:
    class Stages;
    std::unique_ptr<Stages> stages_; // null: text is not changed
};

// Normalises a complete text.
std::string normalize(std::string_view name, std::string_view text);

} // namespace palimpsest::engine
