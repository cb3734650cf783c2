#include "app/reader/pdf_page.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace palimpsest::reader {

void PdfBox::include(const PdfBox& other)
{
    left = std::min(left, other.left), top = std::min(top, other.top);
    right = std::max(right, other.right), bottom = std::max(bottom, other.bottom);
}

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

double width_in_letters(std::string_view text)
{
    const auto is_one_of = [](char c, std::string_view letters) { return letters.find(c) != letters.npos; };
    double width = 0;
    for (const char c : text) {
        const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
        if (continues) continue;
        width += is_one_of(c, " fijlrtI.,:;'!|()[]-") ? 0.6
                 : is_one_of(c, "mwMW@%")             ? 1.5
                 : c >= 'A' && c <= 'Z'               ? 1.3
                                                      : 1;
    }
    return width;
}

double median(std::vector<double> values, double otherwise)
{
    std::erase_if(values, [](double value) { return value <= 0; });
    if (values.empty()) return otherwise;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

} // namespace palimpsest::reader
