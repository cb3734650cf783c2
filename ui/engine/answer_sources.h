// Determines the sources of each answer: keeps the session state from before the turn, and traces the answer's
// attention from there.
//
// Used by the engine thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/session/session.h"
#include "engine/session/session_state.h"
#include "engine/text/tokenizer.h"
#include "storage/session/listener.h"
#include "ui/engine/open_session.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

class AnswerSources {
public:
    // `open` and `listener` must outlive this object.
    AnswerSources(OpenSession& open, storage::Listener& listener) : open_(open), listener_(listener) {}

    void clear() { before_turn_.reset(); }
    // Called before a message is fed. If memory is short, keeps no state: the answer then has no sources.
    void keep_state(engine::Session& session);
    // Records the provenance of the last answer if it is stored and was not stopped; a failure is only noted.
    // Releases the state.
    void note_provenance();

private:
    Provenance provenance_of(const storage::Message& question, std::span<const engine::TokenId> answer,
                             const engine::SessionState& before);

    OpenSession& open_;
    storage::Listener& listener_;
    std::optional<engine::SessionState> before_turn_;
};

} // namespace palimpsest::ui
