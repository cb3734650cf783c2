// Determines what each answer rests on: keeps the session state from before the turn, and traces the answer's
// attention from there; and quotes the sentence that supports it from the passages that were found for the
// question.
//
// Used by the engine thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/session/session.h"
#include "engine/session/session_state.h"
#include "engine/text/tokenizer.h"
#include "storage/session/answer_provenance.h"
#include "storage/session/listener.h"
#include "storage/session/rereading.h"
#include "ui/engine/open_session.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

class AnswerSources {
public:
    // `open` and `listener` must outlive this object.
    AnswerSources(OpenSession& open, storage::Listener& listener) : open_(open), listener_(listener) {}

    void begin_turn() { before_turn_.reset(); }
    // The passages that were found for a question that is about to be said. Other answers to it quote from there,
    // too, and answers to an older question from what that has read again.
    void set_found(storage::Rereading found) { found_ = {.passages = std::move(found), .question = 0}; }
    void forget_found() { found_.reset(); }
    // Forgets what was found for a question whose turn failed.
    void forget_unsaid()
    {
        if (found_ && found_->question == 0) found_.reset();
    }
    // Called before a message is fed. If memory is short, keeps no state: the answer then has no sources.
    void keep_state(engine::Session& session);
    // Records the provenance of the last answer if it is stored, and traces its attention unless a stop is
    // requested; a failure is only noted. Releases the state.
    void note_provenance();

private:
    storage::AnswerSupport support_of(const storage::StoredTurn& turn);
    bool may_be_traced(const storage::StoredTurn& turn);
    std::vector<Provenance::Source> sources_of(const storage::Message& question,
                                               std::span<const engine::TokenId> answer,
                                               const engine::SessionState& before) const;

    OpenSession& open_;
    storage::Listener& listener_;
    std::optional<engine::SessionState> before_turn_;
    struct Found {
        storage::Rereading passages;
        int64_t question; // a message; 0: the one that is being said
    };
    std::optional<Found> found_;
};

} // namespace palimpsest::ui
