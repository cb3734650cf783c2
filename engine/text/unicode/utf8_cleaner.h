// Converts the bytes of a text file to valid UTF-8, before anything else reads them (docs/validation.md, U1).
//
// Removes a byte-order mark at the start; converts UTF-16 that has one; refuses UTF-32. Invalid sequences become
// U+FFFD, NUL is dropped, and CR LF and CR become LF (also with a NUL between CR and LF). Nothing else is changed.
// The output does not depend on how the input is split; at most four bytes are held back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

class Utf8Cleaner {
public:
    struct Counts {
        uint64_t invalid_sequences = 0; // each became one U+FFFD
        uint64_t nul_characters = 0;    // dropped
    };

    // Appends clean text to `out`. Throws Error (Failed, PAL-DOC-01) on a UTF-32 byte-order mark.
    void push(std::string_view bytes, std::string& out);
    // Ends the file: writes what was held back.
    void finish(std::string& out);
    const Counts& counts() const { return counts_; }

private:
    enum class Encoding { Undecided, Utf8, Utf16Little, Utf16Big };

    void decide(std::string& out);
    void decode(unsigned char byte, std::string& out);
    void take_unit(char16_t unit, std::string& out);
    void write(char32_t code, bool valid, std::string& out);

    Encoding encoding_ = Encoding::Undecided;
    std::string head_; // the first bytes, until the encoding is known
    Utf8Decoder utf8_;
    int first_byte_ = -1;         // of a UTF-16 unit; -1: none
    char16_t high_surrogate_ = 0; // of an incomplete pair; 0: none
    bool after_return_ = false;   // a CR was written as LF, so a following LF is skipped
    Counts counts_;
};

// Cleans a complete text.
std::string clean_utf8(std::string_view bytes);

} // namespace palimpsest::engine
