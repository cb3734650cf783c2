#include "app/reader/list_numbers.h"

#include "tests/support/catch.h"

namespace palimpsest::tests {

using reader::list_number;
using reader::NumberStyle;

TEST_CASE("numbers of list items")
{
    CHECK(list_number(12, NumberStyle::Arabic) == "12");
    CHECK(list_number(3, NumberStyle::LowerLetter) == "c");
    CHECK(list_number(27, NumberStyle::UpperLetter) == "AA");
    CHECK(list_number(1994, NumberStyle::LowerRoman) == "mcmxciv");
    CHECK(list_number(4, NumberStyle::UpperRoman) == "IV");
    for (const int number : {-3, 0, 1'000'000})
        for (const NumberStyle style : {NumberStyle::LowerLetter, NumberStyle::UpperRoman})
            CHECK(list_number(number, style) == std::to_string(number));
}

} // namespace palimpsest::tests
