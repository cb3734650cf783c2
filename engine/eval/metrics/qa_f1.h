// How far the words of an answer are those of the right one.
#pragma once

#include <string_view>

namespace palimpsest::engine {

// The harmonic mean of precision and recall of the words (answer_words.h), each counted as often as it stands
// there; 0 without a common word. As qa_f1_score of LongBench (arXiv:2308.14508) and F1 of L-Eval
// (arXiv:2307.11088).
double qa_f1(std::string_view said, std::string_view right);

} // namespace palimpsest::engine
