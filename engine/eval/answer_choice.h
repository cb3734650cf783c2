// Asks a session that has read a document a question: measures which of several answers is the most likely one, and
// generates an answer. For `eval needle`.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/session/session.h"

namespace palimpsest::engine {

struct AnswerChoice {
    std::vector<double> losses; // nats, per answer: the sum over its tokens after the question
    size_t best() const;        // the most likely answer; of equal ones the last, so that the first wins no tie
};

// Asks a copy of the session, and gives a further copy to each answer: costs a copy of the cache for each. A
// retrieval policy reads the answers token by token, as it would generate them. An empty question: it was fed
// already. Returns nullopt if stopped. Throws as Session::feed does. REQUIRES: something was fed, no answer is
// empty.
std::optional<AnswerChoice> choose_answer(Session& session, std::span<const TokenId> question,
                                          std::span<const std::vector<TokenId>> answers,
                                          const std::stop_token& stop = {});

// The most likely continuation of the question, token by token, up to `most` tokens, the end of a line or of the
// text. Returns nullopt if stopped.
std::optional<std::string> generated_answer(Session& session, std::span<const TokenId> question, int32_t most,
                                            const std::stop_token& stop = {});

} // namespace palimpsest::engine
