// The character mapping that a model's training text went through, applied to text just before the tokenizer, with
// a map from every byte of the result back to the source (architecture.md, Normalisation).
//
// "books-1" is the mapping of the default model (recipe/corpus.py, `normalize`): quotes and primes become ' and ",
// em dashes -- without spaces around, en dashes - between digits, ellipses and runs of dots ..., odd spaces and
// runs of spaces one space; zero-width characters go, long s and ligatures are spelled out; NFC. "nfc"
// only composes (Unicode normalisation form C, UAX #15), as the tokenizers of the Qwen family expect. "" changes
// nothing.
//
// One pass, constant memory: the result does not depend on how the text was cut into pieces. A combining sequence
// of more than 32 characters is composed in parts (UAX #15, Stream-Safe Text Format, allows 30 marks).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// Where normalised text lies in its source, as anchors: runs of characters that kept their length cost nothing.
class OffsetMap {
public:
    // The source offset at which the character at `position` of the normalised text begins; inside of what one
    // source character became, that character's end. Monotone. REQUIRES: position not forgotten.
    uint64_t source(uint64_t position) const;
    // Appends: the normalised text from `position` on comes from `source` on. Both must not decrease.
    void add(uint64_t position, uint64_t source);
    // Drops what is needed only for positions before `position`.
    void forget(uint64_t position);
    size_t anchors() const { return anchors_.size(); }

private:
    struct Anchor {
        uint64_t position, source;
    };
    // Ascending; none: source == position. Of two at one position, the first ends what lies before it and the
    // second, past characters that went, begins what follows.
    std::deque<Anchor> anchors_;
};

class Normalizer {
public:
    // Throws Error (Failed, PAL-MODEL-13) for a name this version does not know.
    explicit Normalizer(std::string_view name);
    Normalizer(Normalizer&&) noexcept;
    Normalizer& operator=(Normalizer&&) noexcept;
    ~Normalizer();

    // Appends normalised text to `out` and its anchors to `map`; positions and source offsets count from the start
    // of the stream. Bytes that are not UTF-8 become U+FFFD, except under "".
    void push(std::string_view bytes, std::string& out, OffsetMap& map);
    void finish(std::string& out, OffsetMap& map);

private:
    class Stages;
    std::unique_ptr<Stages> stages_; // null: no change
};

// A whole text at once.
std::string normalize(std::string_view name, std::string_view text);

} // namespace palimpsest::engine
