// The documents of a stored session, and its pins.
#include "storage/session/stored_session.h"

#include <algorithm>
#include <filesystem>

#include "engine/text/section_finder.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "storage/session/scoped_value.h"

namespace palimpsest::storage {
namespace {

// As it can be found again from another folder.
std::string place_of(const Document& document)
{
    if (document.is_stream()) return "-";
    return std::filesystem::absolute(document.name()).lexically_normal().string();
}

} // namespace

void StoredSession::look_for_pins(const std::vector<StreamPart>& stream, bool all_must_be_there,
                                  const std::function<void()>& with_them)
{
    if (wishes_.empty()) {
        if (with_them) store_.database.transaction(with_them);
        return;
    }
    auto change = pins_->look_for(wishes_, all_must_be_there, stream, *session_);
    store_.database.transaction([&] {
        pins_->store(change);
        if (with_them) with_them();
    });
    wishes_ = std::move(change.missing);
    for (const std::string& note : change.notes)
        listener_.note(note);
    pins_->take(std::move(change), *session_);
}

void StoredSession::pin(const std::vector<std::string>& wishes)
{
    const std::vector<std::string> before = std::exchange(wishes_, wishes);
    try {
        with_fallback([&] { look_for_pins(parts_, true); });
    } catch (...) {
        wishes_ = before;
        throw;
    }
    with_fallback([&] { save(); });
}

void StoredSession::pin(const engine::TokenRange& range, const std::string& label)
{
    change_pins([&] { return pins_->with(range, label, *session_); });
}

void StoredSession::unpin(const engine::TokenRange& range)
{
    // What was computed with the pin is not to be computed again without it.
    const auto states = store_.snapshots.of(info_.id);
    if (states.empty() || states.front().tokens_seen != session_->tokens_seen()) with_fallback([&] { save(); });
    change_pins([&] { return pins_->without(range); });
}

void StoredSession::change_pins(const std::function<SessionPins::Change()>& change)
{
    with_fallback([&] {
        SessionPins::Change pins = change();
        store_.database.transaction([&] { pins_->store(pins); });
        pins_->take(std::move(pins), *session_);
    });
    with_fallback([&] { save(); });
}

void StoredSession::read(Document& document, bool more_follow)
{
    take_in([&] { read_here(document, more_follow); });
}

// A document that was taken in before the device failed is read on, not taken in again.
void StoredSession::take_in(const std::function<void()>& read)
{
    const size_t parts = parts_.size();
    try {
        return read();
    } catch (const Error& error) {
        if (!is_device_loss(error)) throw;
    }
    {
        const ScopedValue may_wait(documents_may_wait_, true);
        go_on_without_device();
    }
    if (parts_.size() == parts) return read();
    if (position() < planned()) go_on(parts_.back(), false);
    save();
}

void StoredSession::read_on()
{
    const ScopedValue may_wait(documents_may_wait_, true);
    with_fallback([&] {
        finish_going_back();
        if (!is_half_read()) return;
        go_on(parts_.back(), false);
        save();
    });
}

// Text that was read again and stopped is read on first: what follows it would stand in the wrong place.
void StoredSession::finish_going_back()
{
    const uint64_t left = planned() - position();
    if (left > 0 && !(is_half_read() && left <= parts_.back().tokens)) catch_up(false);
}

void StoredSession::read_here(Document& document, bool more_follow)
{
    finish_going_back();
    if (is_half_read()) {
        const StreamPart last = parts_.back();
        const DocumentInfo stored = store_.library.get(*last.document);
        const bool is_it = document.total_bytes() && stored.source == place_of(document);
        look_for_pins(parts_, is_it && !more_follow);
        if (!document.total_bytes() && stored.source == "-") went_on_ = stored;
        go_on(last, is_it && !is_as_stored(document, stored));
        if (is_it) return save();
    }
    if (!options_.again && was_read(document)) {
        look_for_pins(parts_, !more_follow);
        listener_.note(document.name() + " was read into this session before");
        return;
    }
    ReadingMeter progress(listener_, document.is_stream() ? document.title() : document.name());
    const std::optional<int64_t> id = [&] {
        try {
            return add_document(document, more_follow);
        } catch (const Error& error) {
            if (!is_device_loss(error)) discard_if_new();
            throw;
        } catch (...) {
            discard_if_new();
            throw;
        }
    }();
    if (!id) return save(); // what was just read to its end
    progress.start_at(position(), position());
    feed_document(*id, 0, parts_.back().tokens, &progress);
    save();
}

// It was begun for a document that could not be taken in.
void StoredSession::discard_if_new()
{
    try {
        if (begun_ && parts_.empty() && !options_.stays_empty) store_.conversations.discard(info_.id);
    } catch (const Error&) {
        // What stopped the document is what there is to say; an empty session harms nobody.
    }
}

// Reads on what is stored of a document, whatever its file has become.
void StoredSession::go_on(const StreamPart& part, bool has_changed)
{
    const DocumentInfo stored = store_.library.get(*part.document);
    const uint64_t left = planned() - position(), read = part.tokens - left;
    listener_.note("going on with " + stored.title + " at " + format_count(read) + " of " +
                   format_count(part.tokens) + " tokens" +
                   (has_changed ? "; its file has changed, the text that was stored is read" : ""));
    ReadingMeter progress(listener_, stored.title);
    progress.start_at(position() - read, position());
    feed_document(*part.document, read, left, &progress);
}

// Whether the file is in the session as it is now. What comes from a pipe is never known before.
bool StoredSession::was_read(const Document& document)
{
    if (!document.total_bytes()) return false;
    bool is_there = false;
    for (const StreamPart& part : parts_) {
        if (!part.document) continue;
        const DocumentInfo stored = store_.library.get(*part.document);
        if (stored.source != place_of(document)) continue;
        if (is_as_stored(document, stored)) return true;
        is_there = true;
    }
    if (!is_there) return false;
    throw Error(ErrorKind::Failed, "PAL-DOC-06", printable(document.name()),
                "it has changed since it was read into session '" + printable(info_.name) + "'",
                "read it into another --session, or with palimpsest read --again as a further document");
}

bool StoredSession::is_as_stored(const Document& document, const DocumentInfo& stored) const
{
    if (stored.source_bytes < 0) return true; // by an older version, which did not note it
    if (static_cast<int64_t>(*document.total_bytes()) != stored.source_bytes) return false;
    Document again = document.again();
    for (std::string block; again.next(block);) {
    }
    return again.source_bytes() == stored.source_bytes && again.source_hash() == stored.source_hash;
}

// Takes a document in and puts it, with its framing, at the end of the stream.
std::optional<int64_t> StoredSession::add_document(Document& document, bool more_follow)
{
    const bool is_first = parts_.empty();
    const int64_t id = import(document, is_first && template_->document_is_first_text());
    const DocumentInfo added = store_.library.get(id);
    const uint64_t tokens = added.tokens;
    if (went_on_ && added.source_bytes == went_on_->source_bytes && added.source_hash == went_on_->source_hash) {
        store_.library.remove(id);
        return std::nullopt;
    }
    if (tokens == 0) {
        store_.library.remove(id);
        throw Error(ErrorKind::Failed, "PAL-DOC-03", printable(document.name()), "it has no text",
                    "give a document with text");
    }
    const StreamPart framing = framing_of(document.title());
    const StreamPart part{.tokens = tokens, .document = id};
    std::vector<StreamPart> longer = parts_;
    longer.insert(longer.end(), {framing, part});
    try {
        session_->require_room(static_cast<int64_t>(framing.tokens + tokens));
        look_for_pins(longer, !more_follow, [&] {
            store_.conversations.append(info_.id, framing);
            store_.conversations.append(info_.id, part);
        });
    } catch (...) {
        store_.library.remove(id);
        throw;
    }
    parts_.push_back(framing);
    parts_.push_back(part);
    keep_question_in_mind(true);
    feed(framing.ids, nullptr);
    return id;
}

// What comes before the next document.
StreamPart StoredSession::framing_of(const std::string& title) const
{
    StreamPart framing;
    framing.ids = parts_.empty() ? template_->open_user() : next_document(title);
    framing.tokens = framing.ids.size();
    return framing;
}

// A document after an answer opens a turn of its own.
std::vector<engine::TokenId> StoredSession::next_document(const std::string& title) const
{
    std::vector<engine::TokenId> ids;
    if (!parts_.back().document) ids = template_->close_assistant_open_user();
    const auto heading = template_->next_document(title);
    ids.insert(ids.end(), heading.begin(), heading.end());
    return ids;
}

std::vector<std::string> StoredSession::sources()
{
    std::vector<std::string> all;
    for (const StreamPart& part : parts_)
        if (part.document) all.push_back(store_.library.get(*part.document).source);
    return all;
}

int64_t StoredSession::import(Document& document, bool first_text)
{
    Import import(store_.database, document.title(), place_of(document), model_->fingerprint());
    engine::SectionFinder finder(document.is_markdown() ? engine::Markup::Markdown : engine::Markup::Plain);
    const auto add_sections = [&] {
        for (engine::Heading& h : finder.take())
            import.add_section(
                {.title = std::move(h.title), .first_token = h.first_token, .first_byte = h.first_byte});
    };
    Coverage coverage;
    encode_document(document, *tokenizer_, first_text, coverage,
                    [&](std::string_view clean, std::span<const engine::EncodedToken> tokens) {
                        import.add_text(clean);
                        import.add_tokens(tokens);
                        finder.push(clean);
                        finder.push(tokens);
                        add_sections();
                    });
    finder.finish();
    add_sections();
    return import.finish({.words = document.words(),
                          .invalid_sequences = coverage.invalid_sequences,
                          .nul_characters = coverage.nul_characters,
                          .source_bytes = document.source_bytes(),
                          .source_hash = document.source_hash()});
}

Coverage StoredSession::coverage()
{
    Coverage all;
    uint64_t begin = 0;
    for (const StreamPart& part : parts_) {
        if (part.document) {
            const DocumentInfo document = store_.library.get(*part.document);
            all.tokens_in_input += part.tokens;
            all.tokens_read += std::min(part.tokens, position() - std::min(begin, position()));
            all.invalid_sequences += document.invalid_sequences;
            all.nul_characters += document.nul_characters;
        }
        begin += part.tokens;
    }
    return all;
}

} // namespace palimpsest::storage
