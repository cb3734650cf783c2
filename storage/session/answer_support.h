// What the passages that were found for a question say to an answer: the sentence that supports it best, and what
// of the answer stands in none of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/text.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/rereading.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

// A sentence of a document, verbatim.
struct Quote {
    std::string text;
    StoredPassage place; // bytes and tokens of the sentence; document, index and section of its passage

    Text sentence(Store& store) const;               // `"He saw it." (CHAPTER II, tokens 1,200 to 1,204)`
    nlohmann::ordered_json json(Store& store) const; // docs/formats.md, Answers and turns
};

struct AnswerSupport {
    std::optional<Quote> quote; // absent: no passage was found
    // Names and numbers of the answer that stand neither in the question nor in a passage that was found. Empty,
    // too, if none was found, as there is nothing to compare with.
    std::vector<std::string> unsupported;
};

// The sentence with the most of the question's and the answer's words, its own and in part those of the sentence
// before it, counted by rarity; which has what is asked for (a name, a number); and, with an encoder, the nearest
// in meaning. The weights were chosen on books of the training split; the model's likelihood of the question given
// the sentence did not help there (docs/quality.md).
AnswerSupport support_of(std::string_view answer, std::string_view question, const Rereading& found, Store& store,
                         PassageEncoder* encoder, const std::stop_token& stop = {});

} // namespace palimpsest::storage
