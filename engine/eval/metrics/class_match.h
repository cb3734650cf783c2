// Whether an answer names the right one of several classes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

// 1 by the number of classes that the answer names, if the right one is among them, else 0. A class whose name is a
// part of the right one's does not count, unless it follows one that was just left out: so classification_score of
// LongBench does it.
double class_match(std::string_view said, std::string_view right, const std::vector<std::string>& classes);

} // namespace palimpsest::engine
