// Numbers in answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// The share of the answer's numbers that are spelt like `right`; 0 without a number. As count_score of LongBench.
double number_share(std::string_view said, std::string_view right);

// The number of the paragraph that a right answer names ("Paragraph 7"), with which retrieval_score of LongBench
// computes number_share. Nullopt: it names none.
std::optional<std::string> paragraph_number(std::string_view right);

// Whether the answer's result is the right one's: the digits, up to a full stop, of the word after "The answer is
// ", or else of the last word with digits in the first paragraph. As L-Eval scores arithmetic.
double result_match(std::string_view said, std::string_view right);

} // namespace palimpsest::engine
