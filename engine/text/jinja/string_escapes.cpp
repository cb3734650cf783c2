#include "engine/text/jinja/string_escapes.h"

#include "engine/text/jinja/failure.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine::jinja {
namespace {

int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    const char small = static_cast<char>(digit | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : 16;
}

// Reads up to `most` digits of this base at `at`, and advances `at` past them.
char32_t read_code(std::string_view text, size_t& at, size_t most, int base)
{
    char32_t code = 0;
    const size_t end = at + most;
    for (; at < text.size() && at < end && digit_value(text[at]) < base; ++at)
        code = code * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(text[at]));
    return code;
}

class Escapes {
public:
    Escapes(std::string_view text, int line) : text_(text), line_(line) {}

    std::string run()
    {
        while (at_ < text_.size())
            text_[at_] == '\\' && at_ + 1 < text_.size() ? replace() : keep();
        return std::move(out_);
    }

private:
    void keep() { out_ += text_[at_++]; }
    void replace()
    {
        constexpr std::string_view letters = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
        const char letter = text_[at_ + 1];
        if (const size_t which = letters.find(letter); which != std::string_view::npos) {
            out_ += meanings[which];
            at_ += 2;
        } else if (letter == '\n') {
            at_ += 2;
        } else if (letter >= '0' && letter <= '7') {
            ++at_;
            append_utf8(read_code(text_, at_, 3, 8), out_);
        } else if (letter == 'x' || letter == 'u' || letter == 'U') {
            replace_code(letter == 'x' ? 2 : letter == 'u' ? 4 : 8);
        } else if (letter == 'N') {
            fail_syntax(line_, Text("a character is given by name, which is not supported"));
        } else {
            keep();
        }
    }
    void replace_code(size_t digits)
    {
        at_ += 2;
        const size_t begin = at_;
        const char32_t code = read_code(text_, at_, digits, 16);
        if (at_ != begin + digits || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
            fail_syntax(line_, Text("a character code in a string is malformed"));
        append_utf8(code, out_);
    }

    std::string_view text_;
    int line_;
    size_t at_ = 0;
    std::string out_;
};

} // namespace

std::string without_escapes(std::string_view inside, int line)
{
    return Escapes(inside, line).run();
}

} // namespace palimpsest::engine::jinja
