// Synthetic questions after RULER (arXiv:2404.06654, section 3) of any length: needles, variables and word counts.
// Sentences and words are made up here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

enum class RulerTask : uint8_t {
    Single,     // one key and its number, which is asked for
    MultiKey,   // four keys, one of which is asked for
    MultiValue, // four numbers of one key, all of which are asked for
    MultiQuery, // four keys, all of which are asked for
    Variables,  // five variables, four of which take the value of another
    Common,     // ten words that stand there thirty times, among words that stand there three times
    Frequent    // the three most frequent of made-up words, apart from dots
};
// "niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe"
const char* name_of(RulerTask task);
const std::vector<RulerTask>& ruler_tasks(); // all
std::optional<RulerTask> ruler_task(std::string_view name);

struct RulerSample {
    std::string input; // the text, and the question as its last line
    std::string answer_prefix;
    std::vector<std::string> answers; // all of which are to be named
};

// `units`: sentences around the needles, words that are not common, or words, at least 1. The same seed has the
// same keys, values and answers at every length.
RulerSample make_ruler_sample(RulerTask task, uint64_t seed, size_t units);

// The longest sample whose input and beginning of an answer have at most `length` tokens. Costs an encoding of the
// text for each doubling of its length. Throws Error (Usage, PAL-OPTION-01) if not even the shortest one fits.
RulerSample fit_ruler_sample(RulerTask task, uint64_t seed, size_t length, const Tokenizer& tokenizer);

} // namespace palimpsest::engine
