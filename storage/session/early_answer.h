// An answer to a question that is asked while a document is still being read: from the sentences of what was read
// so far, by an empty session. The session that reads, and what is stored of it, stay as they are.
#pragma once

#include <optional>
#include <string>

#include "storage/session/answer_support.h"
#include "storage/session/session_context.h"
#include "storage/session/session_framing.h"

namespace palimpsest::storage {

struct EarlyAnswer {
    std::string text; // as without_repetition
    AnswerSupport support;
    double share = 0; // of the tokens of the session's documents that were read, 0 to 1
};

// Absent if the session must answer (may_answer_apart), if nothing was found in what was read, or if it was
// stopped. May be called while the session reads, by Listener::progress. Cost: a search and a short answer.
std::optional<EarlyAnswer> answer_early(SessionContext& context, const SessionFraming& framing,
                                        const std::string& question, const engine::GenerateOptions& options);

} // namespace palimpsest::storage
