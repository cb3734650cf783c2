// Whether a document is read with what will be asked of it in mind (policies.md, 1, "Question awareness").
#pragma once

#include <string>
#include <vector>

#include "engine/session/session.h"
#include "engine/text/chat_template.h"

namespace palimpsest::storage {

enum class Protocol {
    Blind,       // the document is read, and asked about later
    Steered,     // the question's rows look at every chunk as it is read; they are not stored
    QuestionLast // document and question are one input
};

const char* name_of(Protocol protocol); // "blind", "steered", "question-last", as the JSON documents have it

Protocol protocol_of_session(const std::string& question); // that its documents are read with in mind; empty: none

// What is fed for a question about the document before it, up to where the answer begins.
std::vector<engine::TokenId> question_turn(const engine::ChatTemplate& chat_template, const std::string& question);

// Throws Error (Usage, PAL-OPTION-06, of `option`) if there is nothing in the question.
void require_question(const std::string& option, const std::string& question);

// Of a session that is made to read with such rows in mind (Session::set_probe). Throws Error (Usage,
// PAL-OPTION-06, of `option`) if the question leaves no room beside a chunk.
void make_room_for(const std::vector<engine::TokenId>& question_rows, const engine::ModelConfig& model,
                   const std::string& option, engine::SessionOptions& options);
// From now on it does. Throws Error: Usage (PAL-OPTION-06) for a policy that would keep the same without a
// question, and as set_probe does.
void steer(engine::Session& session, const std::vector<engine::TokenId>& question_rows, const std::string& option);

} // namespace palimpsest::storage
