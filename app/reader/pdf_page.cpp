#include "app/reader/pdf_page.h"

#include <cctype>

namespace palimpsest::reader {

bool is_letter_or_digit(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

bool ends_sentence(std::string_view text)
{
    for (const std::string_view end : {".", "!", "?", ":", "\"", "\xE2\x80\x9D", ")", "]", "。", "！", "？"})
        if (text.ends_with(end)) return true;
    return false;
}

} // namespace palimpsest::reader
