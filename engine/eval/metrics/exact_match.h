// Whether an answer is the right one.
#pragma once

#include <string_view>

namespace palimpsest::engine {

// If the right answer is nothing but letters A to D: 1 for the same letters, 0.25 for some of them or none. Else:
// equal as numbers if both are numbers, or the right answer stands in the answer, apart from case and spaces. As
// L-Eval's exact match.
double exact_match(std::string_view said, std::string_view right);

} // namespace palimpsest::engine
