#include "storage/session/session_documents.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/document_storer.h"
#include "storage/session/reading_meter.h"

namespace palimpsest::storage {
namespace {

// The title that a document says it has, else the name of this file of it. A document whose content is stored may
// have been stored from another file.
std::string title_of(const Document& document, const DocumentInfo& stored)
{
    return stored.title == title_of_file(stored.source) ? document.title() : stored.title;
}

} // namespace

void SessionDocuments::read(Document& document, bool more_follow)
{
    read_with_fallback([&] { read_now(document, more_follow); });
}

// A document that entered the stream before the device failed is continued on the CPU, not added again.
void SessionDocuments::read_with_fallback(const std::function<void()>& read)
{
    // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): needed if `read` throws, which the check does not see
    const size_t parts = context_.stream.size();
    try {
        return read();
    } catch (const Error& error) {
        if (!is_device_loss(error)) throw;
    }
    fallback_.move_to_cpu(LastDocument::MayStayHalfRead);
    if (context_.stream.size() == parts) return read();
    if (context_.is_half_read()) continue_last(false);
    checkpoints_.save();
}

void SessionDocuments::read_on()
{
    fallback_.run(
        [&] {
            finish_going_back();
            if (!context_.is_half_read()) return;
            const DocumentInfo stored = context_.store.library.get(context_.stream.last_document()->id);
            if (stored.source == "-") finished_pipe_ = stored;
            continue_last(false);
            checkpoints_.save();
        },
        LastDocument::MayStayHalfRead);
}

// Completes a catching up that was stopped: text must be fed in the order of the stream.
void SessionDocuments::finish_going_back()
{
    const uint64_t left = context_.stream.tokens() - context_.position();
    const bool is_in_last_document = context_.is_half_read() && left <= context_.stream.last_document()->tokens;
    if (left > 0 && !is_in_last_document) feeder_.catch_up(LastDocument::MayStayHalfRead, feeder_.usual());
}

void SessionDocuments::read_now(Document& document, bool more_follow)
{
    finish_going_back();
    if (context_.is_half_read()) {
        const DocumentInfo stored = context_.store.library.get(context_.stream.last_document()->id);
        const bool is_it =
            document.total_bytes() && (stored.source == source_of(document) || is_copy(document, stored));
        pin_requests_.look_for(context_.stream.parts(), is_it && !more_follow);
        if (!document.total_bytes() && stored.source == "-") finished_pipe_ = stored;
        continue_last(is_it && !is_as_stored(document, stored));
        if (is_it) return checkpoints_.save();
    }
    if (!context_.options.again && was_read(document)) return skip(document, more_follow);
    read_new(document, more_follow);
}

void SessionDocuments::read_new(Document& document, bool more_follow)
{
    ReadingMeter progress(context_.listener, document.is_stream() ? document.title() : document.name());
    const std::optional<StreamDocument> added = [&] {
        try {
            return add(document, more_follow);
        } catch (const Error& error) {
            if (!is_device_loss(error)) discard_if_new();
            throw;
        } catch (...) {
            discard_if_new();
            throw;
        }
    }();
    if (added) {
        progress.start_at(context_.position(), context_.position());
        feeder_.feed_document(added->id, 0, added->tokens, feeder_.usual(), &progress);
    }
    checkpoints_.save();
}

void SessionDocuments::skip(const Document& document, bool more_follow)
{
    pin_requests_.look_for(context_.stream.parts(), !more_follow);
    context_.listener.note(Text("{0} was read into this session before", document.name()));
    save_if_behind();
}

// Saves a checkpoint if tokens were fed again since the newest one, so that they need not be fed again next time.
void SessionDocuments::save_if_behind()
{
    const auto saved = context_.store.snapshots.of(context_.info.id);
    if (saved.empty() || saved.front().tokens_seen < context_.session->tokens_seen()) checkpoints_.save();
}

// Deletes a new session whose first document could not be imported.
void SessionDocuments::discard_if_new()
{
    const bool is_empty = context_.is_begun_here && context_.stream.empty();
    if (!is_empty || context_.options.stays_empty) return;
    try {
        context_.store.conversations.discard(context_.info.id);
    } catch (const Error&) {
        // The error that stopped the document is reported; an empty session is harmless.
    }
}

// Reads what is stored of the document, even if its file has changed since.
void SessionDocuments::continue_last(bool file_has_changed)
{
    const StreamDocument document = *context_.stream.last_document();
    const DocumentInfo stored = context_.store.library.get(document.id);
    const uint64_t left = context_.stream.tokens() - context_.position(), read = document.tokens - left;
    const std::string at = format_count(read), all = format_count(document.tokens);
    context_.listener.note(
        file_has_changed
            ? Text("going on with {0} at {1} of {2} tokens; its file has changed, the text that was stored is read",
                   stored.title, at, all)
            : Text("going on with {0} at {1} of {2} tokens", stored.title, at, all));
    ReadingMeter progress(context_.listener, stored.title);
    progress.start_at(context_.position() - read, context_.position());
    feeder_.feed_document(document.id, read, left, feeder_.usual(), &progress);
}

// Whether the session has the present content of the file, perhaps of a copy of it. A pipe cannot be recognised.
bool SessionDocuments::was_read(const Document& document) const
{
    if (!document.total_bytes()) return false;
    bool has_changed = false;
    for (const StreamPart& part : context_.stream.parts()) {
        if (!document_in(part)) continue;
        const DocumentInfo stored = context_.store.library.get(document_in(part)->id);
        const bool is_its_file = stored.source == source_of(document);
        if (is_its_file ? is_as_stored(document, stored) : is_copy(document, stored)) return true;
        has_changed = has_changed || is_its_file;
    }
    if (!has_changed) return false;
    throw Error(ErrorKind::Failed, ErrorCode::ChangedDocument, Text::escaped(document.name()),
                Text("it has changed since it was read into session '{0}'", printable(context_.info.name)),
                Text("read it into another {0}, or {1}", Setting::Session, Step::ReadAgain));
}

// Whether another file has the content of a stored one.
bool SessionDocuments::is_copy(const Document& document, const DocumentInfo& stored) const
{
    return document.total_bytes() && stored.source_bytes >= 0 && stored.source != "-" &&
           document.has_source(stored.source_bytes, stored.source_hash);
}

// Whether the stream has a document that was read from the same file content.
bool SessionDocuments::has_content_of(const DocumentInfo& wanted) const
{
    return std::ranges::any_of(context_.stream.parts(), [&](const StreamPart& part) {
        if (!document_in(part)) return false;
        if (document_in(part)->id == wanted.id) return true;
        const DocumentInfo there = context_.store.library.get(document_in(part)->id);
        return wanted.source_bytes >= 0 && there.source_bytes == wanted.source_bytes &&
               there.source_hash == wanted.source_hash && there.bytes == wanted.bytes;
    });
}

bool SessionDocuments::is_as_stored(const Document& document, const DocumentInfo& stored) const
{
    if (stored.source_bytes < 0) return true; // stored by a version that did not record it
    return document.has_source(stored.source_bytes, stored.source_hash);
}

// Stores a document and appends it, with its framing, to the stream. Returns nullopt for the piped document that
// was just read to its end.
std::optional<StreamDocument> SessionDocuments::add(Document& document, bool more_follow)
{
    SessionStream& stream = context_.stream;
    Library& library = context_.store.library;
    const auto [added, is_new] = storer(stream.empty()).store(document);
    if (finished_pipe_ && added.source_bytes == finished_pipe_->source_bytes &&
        added.source_hash == finished_pipe_->source_hash) {
        if (is_new) library.remove(added.id);
        return std::nullopt;
    }
    const StreamFraming framing = framing_.before_document(stream, title_of(document, added));
    const StreamDocument part{.id = added.id, .tokens = added.tokens};
    std::vector<StreamPart> longer = stream.parts();
    longer.insert(longer.end(), {framing, part});
    try {
        context_.session->require_room(static_cast<int64_t>(framing.tokens + part.tokens));
        pin_requests_.look_for(longer, !more_follow, [&] {
            context_.store.conversations.append(context_.info.id, framing);
            context_.store.conversations.append(context_.info.id, part);
        });
    } catch (...) {
        if (is_new) library.remove(added.id);
        throw;
    }
    stream.append(framing);
    stream.append(part);
    feeder_.feed(framing.ids, feeder_.usual());
    return part;
}

DocumentStorer SessionDocuments::storer(bool begins_stream) const
{
    const bool is_first_text = begins_stream && framing_.chat_template().document_is_first_text();
    return {context_.store, *context_.model, is_first_text, context_.listener};
}

void SessionDocuments::read_stored(const std::vector<int64_t>& documents, bool more_follow)
{
    read_on();
    std::vector<DocumentInfo> stored;
    try {
        for (const int64_t document : documents) {
            const DocumentInfo wanted = context_.store.library.get(document);
            if (!context_.options.again && has_content_of(wanted))
                context_.listener.note(Text("{0} was read into this session before", wanted.title));
            else
                stored.push_back(storer(context_.stream.empty() && stored.empty()).store_copy(wanted).info);
        }
        if (!stored.empty()) return read_with_fallback([&] { read_stored_now(stored, more_follow); });
        pin_requests_.look_for(context_.stream.parts(), !more_follow);
        save_if_behind();
    } catch (...) {
        discard_if_new();
        throw;
    }
}

// Appends all documents to the stream before reading the first, so that none can be removed from the library
// meanwhile, and none is left out if the reading is stopped.
void SessionDocuments::read_stored_now(const std::vector<DocumentInfo>& documents, bool more_follow)
{
    finish_going_back();
    SessionStream longer = context_.stream;
    for (const DocumentInfo& stored : documents) {
        longer.append(framing_.before_document(longer, stored.title));
        longer.append(StreamDocument{.id = stored.id, .tokens = stored.tokens});
    }
    const std::vector<StreamPart> added(
        longer.parts().begin() + static_cast<std::ptrdiff_t>(context_.stream.size()), longer.parts().end());
    context_.session->require_room(static_cast<int64_t>(longer.tokens() - context_.stream.tokens()));
    pin_requests_.look_for(longer.parts(), !more_follow, [&] {
        for (const StreamPart& part : added)
            context_.store.conversations.append(context_.info.id, part);
    });
    context_.stream = std::move(longer);
    for (size_t i = 0; i < documents.size(); ++i) {
        feeder_.feed(framing_in(added[2 * i])->ids, feeder_.usual());
        ReadingMeter progress(context_.listener, documents[i].title);
        progress.start_at(context_.position(), context_.position());
        feeder_.feed_document(documents[i].id, 0, documents[i].tokens, feeder_.usual(), &progress);
        checkpoints_.save();
    }
}

std::vector<std::string> SessionDocuments::sources() const
{
    std::vector<std::string> all;
    for (const StreamPart& part : context_.stream.parts())
        if (const StreamDocument* document = document_in(part))
            all.push_back(context_.store.library.get(document->id).source);
    return all;
}

Coverage SessionDocuments::coverage() const
{
    Coverage all;
    std::set<int64_t> told;
    uint64_t begin = 0;
    for (const StreamPart& part : context_.stream.parts()) {
        if (const StreamDocument* document = document_in(part)) {
            const DocumentInfo stored = context_.store.library.get(document->id);
            all.tokens_in_input += document->tokens;
            all.tokens_read +=
                std::min(document->tokens, context_.position() - std::min(begin, context_.position()));
            all.invalid_sequences += stored.invalid_sequences;
            all.nul_characters += stored.nul_characters;
            if (told.insert(document->id).second) // a document can be in the stream twice
                std::ranges::move(context_.store.library.pages_without_text(document->id),
                                  std::back_inserter(all.pages_without_text));
        }
        begin += tokens_of(part);
    }
    return all;
}

} // namespace palimpsest::storage
