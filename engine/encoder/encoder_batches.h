// Runs many texts through a BERT encoder, some at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/encoder/bert_model.h"
#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// A batch grows text by text until it has this many tokens: a model has room for them and for one text more.
inline constexpr int64_t encoder_batch_tokens = 512;

// Runs `count` texts through the model in order. `ids_of` gives the tokens of one, and `take` gets the states of
// each, [tokens, width], valid during the call. Returns false once `stop` is requested; takes effect within
// milliseconds.
bool run_in_batches(BertModel& model, size_t count, size_t width,
                    const std::function<std::vector<TokenId>(size_t)>& ids_of,
                    const std::function<void(std::span<const float>)>& take, const std::stop_token& stop);

} // namespace palimpsest::engine
