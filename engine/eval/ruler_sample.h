// Synthetic questions after RULER (arXiv:2404.06654, section 3) of any length: needles, variables and word counts.
// Sentences and words are made up here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::engine {

enum class RulerTask : uint8_t {
    Single,     // one key and its number, which is asked for
    MultiKey,   // four keys, one of which is asked for
    MultiValue, // four numbers of one key, all of which are asked for
    MultiQuery, // four keys, all of which are asked for
    Variables,  // five variables, four of which take the value of another
    Common,     // ten words that stand there more often than the others
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

// How often the common words of RulerTask::Common and its others stand there.
enum class RulerRepeats : uint8_t {
    Few, // 6 and 1, as in RULER for texts of fewer than 4096 tokens
    Many // 30 and 3
};

// `units`: sentences around the needles, words that are not common, or words, at least 1. The same seed has the
// same keys, values and answers at every length.
RulerSample make_ruler_sample(RulerTask task, uint64_t seed, size_t units,
                              RulerRepeats repeats = RulerRepeats::Many);

// The tokens that a sample takes, whatever is counted among them.
using RulerTokens = std::function<uint64_t(const RulerSample& sample)>;

// The longest sample that takes at most `length` tokens. Counts about twice for each doubling of the text; what
// `tokens` throws is passed on. Throws Error (Usage, PAL-OPTION-01) if not even the shortest one fits.
RulerSample fit_ruler_sample(RulerTask task, uint64_t seed, uint64_t length, const RulerTokens& tokens);

} // namespace palimpsest::engine
