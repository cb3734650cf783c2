#include "app/reader/list_numbers.h"

#include <utility>

namespace palimpsest::reader {
namespace {

constexpr int largest_roman = 3999, largest_letters = 26 * 20;

std::string roman(int number)
{
    constexpr std::pair<int, std::string_view> steps[] = {
        {1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"},
        {40, "xl"},  {10, "x"},   {9, "ix"},  {5, "v"},    {4, "iv"},  {1, "i"}};
    std::string out;
    for (const auto& [value, letters] : steps)
        for (; number >= value; number -= value)
            out += letters;
    return out;
}

// After z come aa, bb, cc.
std::string letters(int number)
{
    return std::string(static_cast<size_t>((number - 1) / 26 + 1), static_cast<char>('a' + (number - 1) % 26));
}

std::string in_capitals(std::string text)
{
    for (char& c : text)
        c = static_cast<char>(c - 'a' + 'A');
    return text;
}

} // namespace

std::string list_number(int number, NumberStyle style)
{
    const bool has_roman = number > 0 && number <= largest_roman,
               has_letters = number > 0 && number <= largest_letters;
    switch (style) {
    case NumberStyle::LowerLetter:
        if (has_letters) return letters(number);
        break;
    case NumberStyle::UpperLetter:
        if (has_letters) return in_capitals(letters(number));
        break;
    case NumberStyle::LowerRoman:
        if (has_roman) return roman(number);
        break;
    case NumberStyle::UpperRoman:
        if (has_roman) return in_capitals(roman(number));
        break;
    default:
        break;
    }
    return std::to_string(number);
}

} // namespace palimpsest::reader
