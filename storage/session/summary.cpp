#include "storage/session/summary.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "engine/session/session_options.h"
#include "kernels/base/error.h"
#include "storage/notes/note_text.h"
#include "storage/notes/telling_sentences.h"
#include "storage/passages/passage_places.h"
#include "storage/session/written_text.h"

namespace palimpsest::storage {
namespace {

constexpr uint64_t most_note_tokens = 2048; // that are summarized at once; a model's own context may be smaller
constexpr size_t merged_words = 120;        // of a merged note
constexpr int32_t merged_tokens = 220;
constexpr size_t most_quoted = 8; // sentences of the documents in place of a summary
constexpr size_t most_refused_words = 1000;
constexpr size_t most_quoted_words = 60; // of each part of them

constexpr const char* merge_request =
    "In at most 120 words, write what the notes above say, in their order. Name who "
    "and where. Use only what stands there.";

// A note, or several merged ones.
struct Entry {
    std::string place, text;
    std::string quotes{}; // the telling sentences of what the note is about; not of a merged one
    std::string line() const { return (place.empty() ? "" : place + ": ") + text + "\n\n"; }
};

using Entries = std::span<const Entry>;

std::string text_of(Entries entries)
{
    std::string all;
    for (const Entry& entry : entries)
        all += entry.line();
    return all;
}

class SummaryWriter {
public:
    SummaryWriter(const StoredSession& session, const SummaryOptions& options)
        : session_(session), options_(options), room_(room(session))
    {
    }

    std::optional<Summary> write(std::vector<Entry> entries)
    {
        const std::vector<Entry> notes = entries;
        while (entries.size() > 1 && tokens_of(text_of(entries)) > room_) {
            if (options_.merging) options_.merging(entries.size());
            auto merged = merge(entries);
            if (!merged) return std::nullopt;
            entries = std::move(*merged);
            ++summary_.levels;
        }
        const auto written = ask(text_of(entries), options_.prompt,
                                 {.sampler = options_.sampler,
                                  .max_tokens = options_.max_tokens,
                                  .ends = options_.ends,
                                  .stop = options_.stop});
        if (!written) return std::nullopt;
        judge(*written, notes);
        return summary_;
    }

private:
    static uint64_t room(const StoredSession& session)
    {
        const int32_t context = session.model().config().context;
        const auto held = static_cast<uint64_t>(session.budget().value_or(context));
        return std::min({most_note_tokens, held / 2, static_cast<uint64_t>(context) / 2});
    }

    uint64_t tokens_of(const std::string& text) const { return session_.tokenizer().encode(text, false).size(); }

    // Has a session that has read nothing read the text, and write.
    std::optional<WrittenText> ask(const std::string& text, const std::string& request,
                                   const WritingOptions& options)
    {
        const auto apart = session_.fresh_session();
        const engine::ChatTemplate& framing = session_.chat_template();
        std::vector<engine::TokenId> ids = framing.open_user();
        const auto more = session_.tokenizer().encode(text, framing.document_is_first_text());
        ids.insert(ids.end(), more.begin(), more.end());
        const SessionStream stream({StreamDocument{.id = 0, .tokens = more.size()}});
        const auto turn = frame_turn(framing, stream, request, {}).ids;
        ids.insert(ids.end(), turn.begin(), turn.end());
        auto written = write_text(*apart, ids, session_.tokenizer(), options);
        if (written) summary_.tokens += written->tokens;
        return written;
    }

    // Merges groups of at least two entries, each of at most room_ tokens if two are not more.
    std::optional<std::vector<Entry>> merge(Entries entries)
    {
        std::vector<Entry> merged;
        while (!entries.empty()) {
            size_t count = std::min<size_t>(2, entries.size());
            while (count < entries.size() && tokens_of(text_of(entries.first(count + 1))) <= room_)
                ++count;
            if (entries.size() - count == 1) ++count; // one alone would not become shorter
            auto one = merged_entry(entries.first(count));
            if (!one) return std::nullopt;
            merged.push_back(std::move(*one));
            entries = entries.subspan(count);
        }
        return merged;
    }

    std::optional<Entry> merged_entry(Entries group)
    {
        Entry entry{.place = group.front().place, .text = {}};
        if (group.back().place != entry.place) entry.place += " - " + group.back().place;
        const std::string source = text_of(group);
        const auto written = ask(source, merge_request, {.max_tokens = merged_tokens, .stop = options_.stop});
        if (!written) return std::nullopt;
        entry.text = kept_or_quoted(written->text, written->end == engine::GenerateEnd::EndOfText, "", source,
                                    {.words = merged_words, .sentences = most_quoted})
                         .text;
        return entry;
    }

    void judge(const WrittenText& written, Entries notes)
    {
        const std::string source = text_of(notes);
        std::vector<std::string> each;
        for (const Entry& note : notes)
            each.push_back(note.line());
        const CheckedText own = checked(written.text, source + options_.prompt);
        summary_.repeats = own.repeats;
        summary_.end = written.end;
        summary_.generated = written.generated;
        // "The text tells how ..." is no worse than "It tells how ...".
        const std::string allowed = source + options_.prompt + " text";
        if (own.kept > own.left_out && is_about(own.text, allowed) && is_about_all(own.text, each)) {
            summary_.text = own.text;
            summary_.left_out = own.left_out;
            return;
        }
        summary_.origin = NoteOrigin::Quoted;
        summary_.end = engine::GenerateEnd::EndOfText; // what is shown is not cut
        summary_.text = quotes_of(notes);
        summary_.refused = trimmed(written.text, most_refused_words, true).text;
    }

    // The most telling sentence of each of at most most_quoted equal parts of the documents.
    static std::string quotes_of(Entries notes)
    {
        std::string all;
        const size_t parts = std::min(most_quoted, notes.size());
        for (size_t part = 0; part < parts; ++part) {
            const size_t first = part * notes.size() / parts, end = (part + 1) * notes.size() / parts;
            std::string text;
            for (const Entry& note : notes.subspan(first, end - first))
                text += note.quotes + "\n\n";
            const auto sentences =
                telling_sentences(text, std::max<size_t>(1, most_quoted / parts), most_quoted_words);
            all += (all.empty() ? "" : " ... ") + quoted(text, sentences, most_quoted_words);
        }
        return all;
    }

    const StoredSession& session_;
    const SummaryOptions& options_;
    uint64_t room_; // tokens of notes that are read at once
    Summary summary_;
};

} // namespace

std::optional<Summary> write_summary(const StoredSession& session, std::span<const Note> notes,
                                     const SummaryOptions& options)
{
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    PassagePlaces places(session.store().library);
    const bool is_several = documents_in(session.stream()).size() > 1;
    std::vector<Entry> entries;
    for (const Note& note : notes) {
        const StoredPassage place{.document = note.document, .section = note.about.section};
        const std::string text =
            session.store().library.text(note.document, note.about.first_byte, note.about.end_byte);
        entries.push_back(
            {.place = places.name(place, is_several),
             .text = note.text,
             .quotes = quoted(text, telling_sentences(text, 2, most_quoted_words), most_quoted_words)});
    }
    auto summary = SummaryWriter(session, options).write(std::move(entries));
    if (summary) summary->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return summary;
}

} // namespace palimpsest::storage
