#include "ui/engine/note_progress.h"

#include <algorithm>
#include <set>
#include <utility>

namespace palimpsest::ui {

NoteProgress NoteProgress::of(storage::StoredSession& session, storage::Store& store, KnownDocuments& known)
{
    NoteProgress progress;
    std::set<std::pair<int64_t, uint64_t>> noted; // documents, and first tokens
    for (const storage::Note& note : session.notes())
        noted.emplace(note.document, note.about.first_token);
    const uint64_t position = session.session().tokens_seen() + static_cast<uint64_t>(session.session().pending());
    std::set<int64_t> seen; // a document can be in the stream twice
    uint64_t begin = 0;
    for (const storage::StreamPart& part : session.parts()) {
        const auto* document = storage::document_in(part);
        const bool is_first = document && seen.insert(document->id).second;
        const auto all = is_first ? known.stretches(document->id, store) : nullptr;
        for (size_t i = 0; all && i < all->size() && begin + (*all)[i].end_token <= position; ++i) {
            ++progress.wanted_;
            if (noted.contains({document->id, (*all)[i].first_token})) ++progress.before_;
        }
        begin += tokens_of(part);
    }
    return progress;
}

std::optional<double> NoteProgress::seconds_left() const
{
    if (written_ == 0) return std::nullopt;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return seconds / static_cast<double>(written_) * static_cast<double>(wanted_ - std::min(notes(), wanted_));
}

} // namespace palimpsest::ui
