// UTF-8, one code point at a time, for text that arrives in arbitrary pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest::engine {

inline constexpr char32_t replacement_character = 0xFFFD;

// REQUIRES: a Unicode scalar value.
void append_utf8(char32_t code, std::string& out);
// Length in bytes of a scalar value in UTF-8.
int utf8_length(char32_t code);
inline bool is_utf8_continuation(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

bool is_valid_utf8(std::string_view text);

// A decoder that buffers at most three bytes. Every maximal invalid subsequence becomes one U+FFFD, as the Unicode
// standard recommends (3.9, "U+FFFD Substitution of Maximal Subparts"), however the input is split.
class Utf8Decoder {
public:
    // Calls sink(char32_t code, size_t bytes, bool valid) for everything that `byte` completes: nothing, one code
    // point, or a replacement character and then one code point. The byte counts add up to the bytes consumed.
    template<typename Sink>
    void push(unsigned char byte, Sink&& sink)
    {
        if (expected_ == 0) return start(byte, sink);
        if (byte < low_ || byte > high_) {
            finish(sink);
            return start(byte, sink);
        }
        code_ = (code_ << 6) | (byte & 0x3Fu);
        low_ = 0x80, high_ = 0xBF;
        ++taken_;
        if (--expected_ == 0) sink(code_, taken_, true);
    }
    // Ends the text: an incomplete sequence becomes U+FFFD.
    template<typename Sink>
    void finish(Sink&& sink)
    {
        if (expected_ == 0) return;
        expected_ = 0;
        sink(replacement_character, taken_, false);
    }
    bool is_incomplete() const { return expected_ != 0; }

private:
    template<typename Sink>
    void start(unsigned char byte, Sink& sink)
    {
        taken_ = 1;
        if (byte < 0x80) return sink(static_cast<char32_t>(byte), taken_, true);
        if (byte < 0xC2 || byte > 0xF4) return sink(replacement_character, taken_, false);
        expected_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
        code_ = byte & (0x3Fu >> expected_);
        // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
        low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
        high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    }

    char32_t code_ = 0;
    size_t taken_ = 0;
    int expected_ = 0; // continuation bytes still expected
    unsigned char low_ = 0x80, high_ = 0xBF;
};

} // namespace palimpsest::engine
