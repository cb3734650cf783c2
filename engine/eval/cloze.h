// Questions about a text that it answers itself: a sentence of it up to a name, a number or a rare word, and ten
// words of that kind to choose from ("cloze", Taylor 1953; as a measure of what is remembered of a context:
// Hill et al. 2015, "The Goldilocks principle", arXiv:1511.02301).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/sentences.h"

namespace palimpsest::engine {

struct Cloze {
    static constexpr size_t answers_asked = 10;

    std::string before; // of the sentence, without white space at its end
    // Different words, each with a space before it, none of which stands in `before`; the first is right.
    std::array<std::string, answers_asked> answers;
    // The text that follows the word in the document: a punctuation mark, or a space and the next word. Append it
    // to every answer before computing losses: without it, "19" could never be less likely than "1984", which it
    // begins.
    std::string after;
    TextRange at; // the right one in the text, without the space
};

// At most one in each of `count` equal parts of the text, in order; fewer where a part has nothing to ask for. A
// word is asked for if it occurs at most three times, so that no answer is likely because it is often there, and if
// the four words before it stand nowhere else, so that nothing but this place tells it. Names and numbers are
// preferred to words of at least seven letters (five in a script without capitals). Empty for a text in a script
// that does not separate words. The same text and seed give the same questions on every machine. Costs one pass
// over the text, and about 120 bytes of memory for each word.
std::vector<Cloze> make_clozes(std::string_view text, size_t count, uint64_t seed);

} // namespace palimpsest::engine
