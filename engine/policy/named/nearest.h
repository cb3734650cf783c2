// Suggestions for words that are not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

// The candidate nearest to `word` by edit distance, for "did you mean"; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace palimpsest::engine
