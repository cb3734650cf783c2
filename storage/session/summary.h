// A summary of documents, made of the notes on them: so it is about the whole, however little of that a session
// still holds.
//
// Notes that are long together are merged level by level: groups of as many as fit half of the budget each become
// one. The model writes the merged notes and the summary. A sentence that names what neither the notes with their
// headings nor the prompt hold is left out of it; if that is most of it, or if it is not about the whole
// (storage/notes/note_text.h), sentences of the documents stand in its place. The project's own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/session/session.h"
#include "storage/notes/note.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {

struct SummaryOptions {
    std::string prompt;
    engine::SamplerOptions sampler{}; // for the summary; merged notes are written greedily
    int32_t max_tokens = 512;
    std::vector<std::string> ends{}; // texts at which it ends
    std::stop_token stop{};
    std::function<void(size_t notes)> merging{}; // called before so many notes are merged
};

struct Summary {
    std::string text{};
    NoteOrigin origin = NoteOrigin::Written; // Quoted: sentences of the documents, as what was written is refused
    std::string refused{};                   // what the model wrote; of a quoted one
    size_t left_out = 0;                     // sentences that name what the notes do not hold
    bool repeats = false;                    // the model repeated itself, and was cut before that
    engine::GenerateEnd end = engine::GenerateEnd::EndOfText;
    size_t generated = 0; // tokens of the text as the model wrote it
    uint64_t tokens = 0;  // fed and generated, with the merged notes
    size_t levels = 0;    // of merging
    double seconds = 0;
};

// Writes a summary from the session's notes. The session itself is not changed. Returns nullopt if stopped. Throws
// Error as engine::Session does. REQUIRES: there are notes.
std::optional<Summary> write_summary(const StoredSession& session, std::span<const Note> notes,
                                     const SummaryOptions& options);

} // namespace palimpsest::storage
