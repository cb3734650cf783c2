// The first thing that happens to a text file (reliability.md, U1): whatever the bytes are, valid UTF-8 comes out.
//
// A byte-order mark at the start goes; UTF-16 announced by one is converted, UTF-32 is refused by name; invalid
// sequences become U+FFFD, NUL goes, CR LF and CR become LF (a NUL between them counts for nothing). Nothing else
// is changed. The output is the same however the input was cut into pieces; at most four bytes are held back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/text/utf8.h"

namespace palimpsest::engine {

class Utf8Cleaner {
public:
    struct Counts {
        uint64_t invalid_sequences = 0; // each became one U+FFFD
        uint64_t nul_characters = 0;    // dropped
    };

    // Appends clean text to `out`. Throws Error (Failed, PAL-DOC-01) on a UTF-32 byte-order mark.
    void push(std::string_view bytes, std::string& out);
    // The end of the file: what was held back comes out.
    void finish(std::string& out);
    const Counts& counts() const { return counts_; }

private:
    enum class Encoding { Undecided, Utf8, Utf16Little, Utf16Big };

    void decide(std::string& out);
    void decode(unsigned char byte, std::string& out);
    void take_unit(char16_t unit, std::string& out);
    void write(char32_t code, bool valid, std::string& out);

    Encoding encoding_ = Encoding::Undecided;
    std::string head_; // the first bytes, until they tell the encoding
    Utf8Decoder utf8_;
    int first_byte_ = -1;         // of a UTF-16 unit
    char16_t high_surrogate_ = 0; // waiting for its low one
    bool after_return_ = false;   // a CR was written as LF: an LF that follows belongs to it
    Counts counts_;
};

// A whole text at once.
std::string clean_utf8(std::string_view bytes);

} // namespace palimpsest::engine
