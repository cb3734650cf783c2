// Lower case as Python's str.lower, with which published metrics compare texts.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::engine {

// The full mapping of Unicode (3.13, "toLowercase"): U+0130 becomes two code points, and a capital sigma at the end
// of a word U+03C2. An invalid byte becomes U+FFFD.
std::string lower_case(std::string_view text);

} // namespace palimpsest::engine
