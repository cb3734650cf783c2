// Ranks the best passages that were found for a question by reading each sentence of them together with it.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "storage/passages/passage_search.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/store.h"

namespace palimpsest::storage {

inline constexpr size_t most_read = 16;
// Adds a part of the score of its best sentence, less the mean of these, to each of the best `most_read` hits,
// which are best first, and orders these anew; the others follow as they are. All stay as they are if the encoder
// reads no sentences (PassageEncoder::scores), or is stopped. A passage whose text is damaged counts as an average
// one. Read are the sentences of the two windows of a passage that are nearest to the question (PassageVectors).
// Cost: about 50 sentences through the encoder, half a second on two cores.
std::vector<PassageHit> ranked_by_reading(std::vector<PassageHit> hits, const Question& question,
                                          const QuestionMeaning& meaning, PassageEncoder& encoder, Store& store,
                                          const std::stop_token& stop);

} // namespace palimpsest::storage
