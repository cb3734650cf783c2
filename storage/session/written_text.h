// Text that a session writes on request: notes, summaries, and answers while a document is read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/tokenizer.h"

namespace palimpsest::storage {

struct WritingOptions {
    // Greedy, so that the same text is written again. Without a penalty, small models repeat themselves
    // (docs/quality.md).
    engine::SamplerOptions sampler{.repeat_penalty = 1.1};
    int32_t max_tokens = 0;
    std::vector<std::string> ends{}; // texts at which it ends
    std::stop_token stop{};
    // Is called for every token that belongs to the text; false: no more.
    std::function<bool(engine::TokenId)> token{};
};

struct WrittenText {
    std::string text;
    engine::GenerateEnd end = engine::GenerateEnd::Length;
    size_t generated = 0; // tokens
    uint64_t tokens = 0;  // fed and generated
};

// Feeds the request and generates; ends early when the text begins to repeat itself. Changes the session. Returns
// nullopt if stopped. Throws Error as Session::feed and set_sampler do.
std::optional<WrittenText> write_text(engine::Session& session, std::span<const engine::TokenId> request,
                                      const engine::Tokenizer& tokenizer, const WritingOptions& options);

} // namespace palimpsest::storage
