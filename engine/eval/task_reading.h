// One session reads a benchmark's text and answers its questions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session/protocol.h"
#include "engine/session/session.h"

namespace palimpsest::engine {

struct TaskAnswer {
    std::string text;
    uint64_t tokens = 0;
    GenerateEnd end = GenerateEnd::Length;
};

// Generates at most `most` of the likeliest tokens for each question, and asks all questions but the last on a copy
// of the session, so that none changes another's answer; costs a copy of the cache. Steered: question rows only
// change something if the policy uses attention. Progress counts questions, and answers as if they were `most`
// long. Returns nullopt if stopped. Throws as Session::feed does. REQUIRES: the session is new and has a tokenizer,
// `context` is not empty, and the protocol is blind or there is one question.
std::optional<std::vector<TaskAnswer>> read_and_answer(Session& session, std::span<const TokenId> context,
                                                       std::span<const std::vector<TokenId>> questions,
                                                       Protocol protocol, int32_t most, const FeedOptions& options);

} // namespace palimpsest::engine
