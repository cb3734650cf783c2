// Numbers of list items, as word processors write them.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::reader {

enum class NumberStyle { Bullet, None, Arabic, LowerLetter, UpperLetter, LowerRoman, UpperRoman };

// "3", "c", "iii" of 3; "27" as letters is "aa". Numbers that have no such form are written in digits.
std::string list_number(int number, NumberStyle style);

} // namespace palimpsest::reader
