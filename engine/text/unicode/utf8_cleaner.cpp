#include "engine/text/unicode/utf8_cleaner.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr size_t longest_mark = 4; // length of a UTF-32 byte-order mark

bool is_high_surrogate(char16_t unit)
{
    return (unit & 0xFC00) == 0xD800;
}

bool is_low_surrogate(char16_t unit)
{
    return (unit & 0xFC00) == 0xDC00;
}

} // namespace

void Utf8Cleaner::push(std::string_view bytes, std::string& out)
{
    if (encoding_ == Encoding::Undecided) {
        const size_t taken = std::min(bytes.size(), longest_mark - head_.size());
        head_ += bytes.substr(0, taken);
        bytes.remove_prefix(taken);
        if (head_.size() < longest_mark) return;
        decide(out);
    }
    for (char byte : bytes)
        decode(static_cast<unsigned char>(byte), out);
}

void Utf8Cleaner::finish(std::string& out)
{
    if (encoding_ == Encoding::Undecided) decide(out);
    utf8_.finish([&](char32_t code, size_t, bool valid) { write(code, valid, out); });
    if (high_surrogate_ != 0) write(replacement_character, false, out);
    if (first_byte_ >= 0) write(replacement_character, false, out);
    high_surrogate_ = 0;
    first_byte_ = -1;
}

// The little-endian mark of UTF-32 begins with that of UTF-16, so UTF-32 is checked first.
void Utf8Cleaner::decide(std::string& out)
{
    using namespace std::string_view_literals;
    const std::string head = std::move(head_);
    if (head.starts_with("\xFF\xFE\0\0"sv) || head.starts_with("\0\0\xFE\xFF"sv))
        throw Error(ErrorKind::Failed, ErrorCode::UnreadableDocument, Text("text"),
                    Text("it is UTF-32, which is not read"), Text("save it as UTF-8"));
    size_t mark = 0;
    encoding_ = Encoding::Utf8;
    if (head.starts_with("\xEF\xBB\xBF"sv))
        mark = 3;
    else if (head.starts_with("\xFF\xFE"sv))
        encoding_ = Encoding::Utf16Little, mark = 2;
    else if (head.starts_with("\xFE\xFF"sv))
        encoding_ = Encoding::Utf16Big, mark = 2;
    for (size_t i = mark; i < head.size(); ++i)
        decode(static_cast<unsigned char>(head[i]), out);
}

void Utf8Cleaner::decode(unsigned char byte, std::string& out)
{
    if (encoding_ == Encoding::Utf8)
        utf8_.push(byte, [&](char32_t code, size_t, bool valid) { write(code, valid, out); });
    else if (first_byte_ < 0)
        first_byte_ = byte;
    else {
        const int unit = encoding_ == Encoding::Utf16Big ? first_byte_ << 8 | byte : byte << 8 | first_byte_;
        first_byte_ = -1;
        take_unit(static_cast<char16_t>(unit), out);
    }
}

void Utf8Cleaner::take_unit(char16_t unit, std::string& out)
{
    const char16_t high = std::exchange(high_surrogate_, char16_t{0});
    if (high != 0 && is_low_surrogate(unit))
        return write(0x10000u + ((high & 0x3FFu) << 10) + (unit & 0x3FFu), true, out);
    if (high != 0) write(replacement_character, false, out);
    if (is_high_surrogate(unit))
        high_surrogate_ = unit;
    else if (is_low_surrogate(unit))
        write(replacement_character, false, out);
    else
        write(unit, true, out);
}

void Utf8Cleaner::write(char32_t code, bool valid, std::string& out)
{
    if (!valid) ++counts_.invalid_sequences;
    if (valid && code == 0) {
        ++counts_.nul_characters;
        return;
    }
    const bool ends_return = std::exchange(after_return_, code == '\r') && code == '\n';
    if (!ends_return) append_utf8(code == '\r' ? U'\n' : code, out);
}

std::string clean_utf8(std::string_view bytes)
{
    std::string out;
    Utf8Cleaner cleaner;
    cleaner.push(bytes, out);
    cleaner.finish(out);
    return out;
}

} // namespace palimpsest::engine
