// Answers that are written from passages alone: a session of their own reads the sentences that the question is
// most about, and the question. A small model is confused by all that its cache holds of a long document
// (docs/quality.md).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "storage/session/answer_from.h"
#include "storage/session/found_sentences.h"
#include "storage/session/rereading.h"

namespace palimpsest::storage {

// How the model is asked; {} is the question. Chosen on books of the training split (docs/quality.md).
inline constexpr const char* passage_prompt = "{} Answer briefly, with facts from the text above only.";
// The prompt, which has a {}, with the question in its place.
std::string prompted(std::string_view prompt, std::string_view question);

// Whether a message of a conversation may be answered from passages by an empty session: with Auto, if it is a
// question, and not about the conversation. `before`: the stream before the message.
bool may_answer_apart(AnswerFrom from, std::string_view message, std::span<const StreamPart> before);

// The sentences, of those that were found for it, that a question is answered from; empty: the session answers.
std::vector<Quote> excerpts_for(const Rereading& found, const FoundSentences& sentences, AnswerFrom from);

// A question of a conversation, and its answer.
struct Exchange {
    std::string question;
    std::vector<engine::TokenId> answer;
};
// The exchange that these parts of a stream end with, if it is stored and short, and `question` may not be
// understood without it (stands_alone).
std::optional<Exchange> exchange_before(std::string_view question, std::span<const StreamPart> parts, Store& store);

// The tokens that an empty session is fed: the exchange, if there is one, then a turn of the texts and `message`.
std::vector<engine::TokenId> prompt_apart(const engine::ChatTemplate& chat_template,
                                          const std::optional<Exchange>& before, std::span<const std::string> texts,
                                          std::string_view message);

// An empty session with the model and the options of this one, but without its pins.
std::unique_ptr<engine::Session> empty_session_like(const engine::Session& session,
                                                    const std::shared_ptr<const engine::Model>& model,
                                                    const engine::SamplerOptions& sampler);

// As Session::generate, but an empty session reads `prompt` and writes the answer, and `session` takes each token
// in as if it had chosen it (Session::replay). `begun`: tokens of the answer that `session` has taken in already.
engine::GenerateResult generate_apart(engine::Session& session, const std::shared_ptr<const engine::Model>& model,
                                      std::span<const engine::TokenId> prompt,
                                      std::span<const engine::TokenId> begun,
                                      const engine::GenerateOptions& options);

} // namespace palimpsest::storage
