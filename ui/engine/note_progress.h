// How far the notes on what a session has read are, while the missing ones are written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/known_documents.h"

namespace palimpsest::ui {

class NoteProgress {
public:
    // Cost: reads the session's notes.
    static NoteProgress of(storage::StoredSession& session, storage::Store& store, KnownDocuments& known);

    void add_note() { ++written_; }
    uint64_t notes() const { return before_ + written_; }
    uint64_t wanted() const { return wanted_; }
    std::optional<double> seconds_left() const; // nullopt before the first note

private:
    using Clock = std::chrono::steady_clock;

    uint64_t before_ = 0, wanted_ = 0, written_ = 0;
    Clock::time_point begin_ = Clock::now();
};

} // namespace palimpsest::ui
