#include "storage/session/note_taking.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/notes/note_plan.h"
#include "storage/notes/note_text.h"
#include "storage/notes/notes.h"
#include "storage/passage_index.h"
#include "storage/session/document_indexing.h"
#include "storage/session/written_text.h"

namespace palimpsest::storage {
namespace {

constexpr int32_t most_note_tokens = 110; // 60 words, and some more to end a sentence
constexpr size_t most_quoted_sentences = 2;

// How the model is asked for a note. `section`: its heading, or empty.
std::string note_request(const std::string& section)
{
    const std::string what = section.empty() ? "the last part of the text above" : "the section \"" + section + '"';
    return "In at most 60 words, write what happens in " + what +
           ", or what it says. Name who and where. Use only what stands there.";
}

// Whether the error says that a session has no room for what it should be fed.
bool concerns_room(const Error& error)
{
    return error.code() == ErrorCode::CacheFull || error.code() == ErrorCode::PositionsExhausted ||
           error.code() == ErrorCode::StreamTooLong;
}

std::string heading_of(const Stretch& stretch, const std::vector<Section>& sections)
{
    const auto at = static_cast<size_t>(stretch.section);
    return stretch.section >= 0 && at < sections.size() ? sections[at].title : "";
}

} // namespace

bool NoteTaking::is_wanted() const
{
    if (context_.options.read_only || context_.options.notes == NoteMode::Never) return false;
    if (context_.options.notes == NoteMode::Always || has_some()) return true;
    const engine::Session& session = *context_.session;
    return session.policy().bounded() && context_.stream.tokens() > static_cast<uint64_t>(session.options().budget);
}

// A summary of some of the documents would pass for one of all.
bool NoteTaking::has_some() const
{
    return !Notes(context_.store.database).of(context_.info.id).empty();
}

std::deque<Stretch> NoteTaking::missing(int64_t document, uint64_t from_token)
{
    if (!is_wanted()) return {};
    if (!index_documents(context_.store, std::array{document}, context_.listener, context_.listener.stop()))
        return {}; // stopped: the reading will see it, too
    const auto written = Notes(context_.store.database).of(context_.info.id, document);
    std::deque<Stretch> all;
    for (const Stretch& stretch : NotePlan::of(PassageIndex(context_.store.database).all(document))) {
        const auto is_on_it = [&](const Note& note) { return note.about == stretch; };
        if (stretch.end_token >= from_token && std::none_of(written.begin(), written.end(), is_on_it))
            all.push_back(stretch);
    }
    return all;
}

bool NoteTaking::write(int64_t document, const Stretch& stretch, const std::stop_token& stop)
{
    const auto begin = Clock::now();
    const auto copy = engine::Session::restore(context_.model, context_.session->state());
    return write(*copy, {.document = document, .about = stretch}, begin, stop);
}

bool NoteTaking::write_apart(int64_t document, const Stretch& stretch, const std::stop_token& stop)
{
    const auto begin = Clock::now();
    const auto session = checkpoints_.fresh();
    std::vector<engine::TokenId> ids = framing_.before_document({}, "").ids;
    const auto own = context_.store.library.ids(document, stretch.first_token, stretch.tokens());
    ids.insert(ids.end(), own.begin(), own.end());
    try {
        if (!session->feed(ids, {.stop = stop, .progress = {}, .loss = {}})) return false;
    } catch (const Error& error) {
        if (!concerns_room(error)) throw;
    }
    return write(*session, {.document = document, .about = stretch, .tokens = ids.size()}, begin, stop);
}

bool NoteTaking::write(engine::Session& session, Note note, Clock::time_point begin, const std::stop_token& stop)
{
    Store& store = context_.store;
    const std::string heading = heading_of(note.about, store.library.sections(note.document));
    const std::string text = store.library.text(note.document, note.about.first_byte, note.about.end_byte);
    WrittenText written;
    try {
        const SessionStream stream({StreamDocument{.id = note.document, .tokens = note.about.tokens()}});
        const auto all = write_text(session, framing_.turn(stream, note_request(heading)).ids, framing_.tokenizer(),
                                    {.max_tokens = most_note_tokens, .ends = {}, .stop = stop});
        if (!all) return false;
        written = *all;
    } catch (const Error& error) {
        if (!concerns_room(error)) throw; // without room, the stretch is quoted
    }
    KeptText kept = kept_or_quoted(written.text, written.end == engine::GenerateEnd::EndOfText, heading, text,
                                   {.words = most_words, .sentences = most_quoted_sentences});
    note.origin = kept.origin;
    note.repeats = kept.repeats;
    note.text = std::move(kept.text);
    note.refused = std::move(kept.refused);
    note.tokens += written.tokens;
    note.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    Notes(store.database).put(context_.info.id, note);
    context_.listener.noted(note, store);
    return true;
}

std::vector<NoteTaking::MissingNote> NoteTaking::all_missing()
{
    std::vector<MissingNote> all;
    std::set<int64_t> seen; // a document can be in the stream twice
    uint64_t begin = 0;
    const uint64_t position = context_.position();
    for (const StreamPart& part : context_.stream.parts()) {
        const StreamDocument* document = document_in(part);
        if (document && seen.insert(document->id).second) {
            for (const Stretch& stretch : missing(document->id, 0))
                if (begin + stretch.end_token <= position)
                    all.push_back({document->id, stretch, begin + stretch.end_token});
            refuse_unindexed(document->id);
        }
        begin += tokens_of(part);
    }
    return all;
}

void NoteTaking::refuse_unindexed(int64_t document) const
{
    Store& store = context_.store;
    if (!store.unindexable.contains(document)) return;
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDocument,
                Text("document '{0}'", printable(store.library.get(document).title)),
                Text("its sections are not known, so there are no notes on them"),
                Text("import it again, or make the summary without notes"));
}

// A stretch at whose end the session stands gets its note as if the reading had not been stopped there.
bool NoteTaking::complete(const std::stop_token& stop)
{
    const auto begin = Clock::now();
    const auto missing_notes = all_missing();
    if (stop.stop_requested()) return false; // while indexing, too
    uint64_t done = 0, tokens = 0;
    for (const auto& [document, stretch, end] : missing_notes) {
        const bool is_here = end == context_.position();
        if (!(is_here ? write(document, stretch, stop) : write_apart(document, stretch, stop))) return false;
        tokens += stretch.tokens();
        const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
        const double share = static_cast<double>(++done) / static_cast<double>(missing_notes.size());
        context_.listener.progress({.what = context_.store.library.get(document).title,
                                    .telemetry = context_.session->telemetry(),
                                    .share = share,
                                    .seconds_left = elapsed * (1 - share) / share,
                                    .tokens_per_second = static_cast<double>(tokens) / std::max(1e-9, elapsed),
                                    .bytes_total = std::nullopt,
                                    .bytes_written = context_.store.database.bytes_written()},
                                   *context_.session);
    }
    if (!missing_notes.empty()) context_.listener.reading_ended();
    return true;
}

} // namespace palimpsest::storage
