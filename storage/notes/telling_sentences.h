// The sentences that stand for a text: those that share most with the others (degree centrality: Erkan, Radev,
// "LexRank: Graph-based Lexical Centrality as Salience in Text Summarization", JAIR 22, 2004; its random walk gives
// a sentence that shares nothing as much as an average one).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/sentences.h"

namespace palimpsest::storage {

// At most `most` sentences with at most `max_words` words together, in the order of the text. Each has 8 to 40
// words, and none says mostly what another one does. One with a name counts half as much again; speech and
// questions are taken if there is nothing else. The weights are the project's own, not measured. Empty if there is
// none. Sentences are compared by the cosine of their content words, weighted by rarity in this text. Cost: the
// square of the number of sentences, of which at most the first 1,000 are looked at.
std::vector<engine::TextRange> telling_sentences(std::string_view text, size_t most, size_t max_words);

// These sentences, verbatim but for line ends, which become spaces; "..." stands where others are left out between
// them. If there are none, the first words of the text, with "..." behind.
std::string quoted(std::string_view text, const std::vector<engine::TextRange>& sentences, size_t max_words);

} // namespace palimpsest::storage
