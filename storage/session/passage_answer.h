// Answers that are written from passages alone: a session of their own reads the sentences that the question is
// most about, and the question. A small model is confused by all that its cache holds of a long document
// (docs/quality.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/session/session.h"
#include "storage/session/quote.h"

namespace palimpsest::storage {

enum class AnswerFrom : uint8_t {
    Auto,    // passages, if some are read again
    Session, // what it holds, and the passages that are read again
    Passages // those that were found; the session, if none were
};

// The excerpts, then the message, as one text.
std::string with_excerpts(std::span<const Quote> excerpts, const std::string& message);

// An empty session with the model and the options of this one, but without its pins.
std::unique_ptr<engine::Session> empty_session_like(const engine::Session& session,
                                                    const std::shared_ptr<const engine::Model>& model,
                                                    const engine::SamplerOptions& sampler);

// "auto", "session", "passages".
std::string_view name_of(AnswerFrom from);
std::optional<AnswerFrom> answer_from(std::string_view name);

} // namespace palimpsest::storage
