// The tokens of a question, and how a session that knows it before reading is set up.
#pragma once

#include <string>
#include <vector>

#include "engine/session/protocol.h"
#include "engine/session/session.h"
#include "engine/text/chat_template.h"
#include "kernels/base/text.h"

namespace palimpsest::storage {

using engine::name_of;
using engine::Protocol;

Protocol protocol_of_session(const std::string& question); // empty question: Blind

// The tokens to feed for a question about the preceding document, up to the start of the answer.
std::vector<engine::TokenId> question_turn(const engine::ChatTemplate& chat_template, const std::string& question);

// Throws Error (Usage, PAL-OPTION-06, about `subject`) if the question is blank.
void require_question(const Text& subject, const std::string& question);

// Reserves room for question rows in the options of a new session (Session::set_question_ids). Throws Error (Usage,
// PAL-OPTION-06, about `subject`) if the question and a chunk exceed the model's context.
void make_room_for(const std::vector<engine::TokenId>& question_ids, const engine::ModelConfig& model,
                   const Text& subject, engine::SessionOptions& options);
// Starts feeding the question rows behind every chunk. Throws Error: Usage (PAL-OPTION-06) if the policy uses no
// attention, so that a question would change nothing; and like set_question_ids.
void steer(engine::Session& session, const std::vector<engine::TokenId>& question_ids, const Text& subject);

} // namespace palimpsest::storage
