// The words of an answer, without what does not make it another answer: punctuation and articles (SQuAD,
// arXiv:1606.05250, section 6.1, as LongBench and L-Eval have it).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

enum class AnswerCase { Kept, Lowered };

// Removes ASCII punctuation, so that "co-op" becomes "coop", and the words a, an and the in lower case.
std::vector<std::string> answer_words(std::string_view text, AnswerCase with);

// The text's words, as white space separates them.
std::vector<std::string> spaced_words(std::string_view text);

// The numbers of the text: runs of decimal digits of any script.
std::vector<std::string> digit_runs(std::string_view text);

} // namespace palimpsest::engine
