// How the passages that were found for a question support an answer: the sentence that supports it best, and the
// names and numbers of the answer that stand in none of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/session/found_sentences.h"
#include "storage/session/quote.h"

namespace palimpsest::storage {

struct AnswerSupport {
    std::optional<Quote> quote; // a sentence; absent: no passage was found
    // Names and numbers of the answer that stand neither in the question nor in a passage that was found. Empty,
    // too, if none was found, as there is nothing to compare with.
    std::vector<std::string> unsupported;
};

// Empty, too, if the text is damaged.
AnswerSupport support_of(std::string_view answer, const FoundSentences& found);

} // namespace palimpsest::storage
