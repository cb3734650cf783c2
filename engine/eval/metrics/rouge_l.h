// ROUGE-L (Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", section 3): the share of the words
// that stand in the same order in both texts. The two packages that benchmarks use define it differently.
#pragma once

#include <string_view>

namespace palimpsest::engine {

// The F value of Lin 2004, section 3.2, as version 1.0.1 of the package "rouge" computes it, for LongBench: a full
// stop ends a sentence, case and punctuation count, and of equal words only one does. Unlike there, sentences of
// any length are compared; there, a pair of about a thousand words scores 0.
double rouge_l(std::string_view said, std::string_view right);

// The F value of Lin 2004, section 3.1, as version 0.1.2 of the package "rouge_score" computes it without a
// stemmer, for L-Eval: words are runs of a-z and 0-9 in lower case, and the text is one sequence.
double rouge_l_of_letters(std::string_view said, std::string_view right);

} // namespace palimpsest::engine
