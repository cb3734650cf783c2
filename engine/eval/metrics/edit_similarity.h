// How similar a generated line of code is to the right one.
#pragma once

#include <string_view>

namespace palimpsest::engine {

// Compares the first line that has no mark of a comment or a fence (`, # or //). Twice the longest common
// subsequence by the sum of the lengths, in code points, rounded to a hundredth; 1 for equal lines, also empty
// ones. As code_sim_score of LongBench with version 0.18.0 of fuzzywuzzy.
double edit_similarity(std::string_view said, std::string_view right);

} // namespace palimpsest::engine
