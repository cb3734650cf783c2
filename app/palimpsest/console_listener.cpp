#include "app/palimpsest/console_listener.h"

#include "app/palimpsest/output.h"
#include "kernels/base/error_code.h"
#include "storage/notes/note_report.h"
#include "storage/session/rereading.h"

namespace palimpsest::app {
namespace {

nlohmann::ordered_json excerpts_json(const std::vector<storage::Quote>& excerpts, storage::Store& store)
{
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const storage::Quote& excerpt : excerpts)
        all.push_back(excerpt.json(store));
    return all;
}

void add_quote(nlohmann::ordered_json& answer, const storage::AnswerSupport& support, storage::Store* store)
{
    answer["quote"] = support.quote ? support.quote->json(*store) : nlohmann::ordered_json();
    answer["unsupported"] = support.unsupported;
}

} // namespace

void ConsoleListener::note(const Text& sentence)
{
    write_note(console_, events_, sentence);
}

void ConsoleListener::progress(const storage::ReadingProgress& progress, const engine::Session& /*session*/)
{
    if (!progress_) progress_.emplace(console_, Progress::style_for(console_, events_));
    progress_->update(progress);
}

void ConsoleListener::found(const storage::Rereading& passages, storage::Store& store)
{
    found_ = passages;
    if (events_) {
        nlohmann::ordered_json event{{"event", "reread"}};
        event.update(passages.json(store));
        write_event(console_.err, event);
        if (!passages.excerpts.empty())
            write_event(console_.err,
                        {{"event", "excerpts"}, {"excerpts", excerpts_json(passages.excerpts, store)}});
    } else if (!passages.read.empty() || !passages.excerpts.empty()) {
        const Text sentence = passages.sentence(store);
        const Text said = passages.excerpts.empty()
                              ? sentence
                              : Text("{0} (with --answer-from session, or /answer session in a chat: from what the "
                                     "cache holds, too)",
                                     sentence);
        console_.err << visible(console_.wording.of(said)) << std::endl;
    }
}

void ConsoleListener::noted(const storage::Note& note, storage::Store& store)
{
    if (!events_) return;
    storage::PassagePlaces places(store.library);
    nlohmann::ordered_json event{{"event", "section_note"}};
    event.update(note_json(note, places));
    write_event(console_.err, event);
}

void ConsoleListener::saved(uint64_t tokens_seen, uint64_t bytes_written)
{
    if (!events_) return;
    write_event(console_.err,
                {{"event", "checkpoint"}, {"tokens_seen", tokens_seen}, {"bytes_written", bytes_written}});
}

void ConsoleListener::device_lost(const std::string& device)
{
    const Text text(
        "the graphics card stopped responding; nothing was lost, it goes on without it; {0} to use it again [{1}]",
        Step::Restart, name_of(ErrorCode::GpuLost));
    if (events_)
        write_event(
            console_.err,
            {{"event", "device_lost"}, {"device", device}, {"goes_on_with", "cpu"}, {"text", for_scripts(text)}});
    else
        write_note(console_, events_, text);
}

void add_support(nlohmann::ordered_json& answer, const storage::Rereading* found,
                 const storage::AnswerSupport& support, storage::Store* store)
{
    const bool is_apart = found && !found->excerpts.empty();
    answer["answered_from"] = name_of(is_apart ? storage::AnswerFrom::Passages : storage::AnswerFrom::Session);
    answer["excerpts"] =
        is_apart ? excerpts_json(found->excerpts, *store) : nlohmann::ordered_json(nlohmann::ordered_json::array());
    answer["reread"] = found ? found->json(*store) : nlohmann::ordered_json();
    add_quote(answer, support, store);
}

void write_support(Console& console, bool events, bool json, const storage::AnswerSupport& support,
                   storage::Store& store)
{
    if (!support.quote || (json && !events)) return;
    if (events) {
        nlohmann::ordered_json event{{"event", "quote"}};
        add_quote(event, support, &store);
        return write_event(console.err, event);
    }
    std::vector<Text> things;
    for (const std::string& thing : support.unsupported)
        things.push_back(Text::escaped(thing));
    if (!things.empty())
        write_note(console, false, Text("not in the passages that were found: {0}", joined(things, ", ")));
    console.err << visible(console.wording.of(Text("quote: {0}", support.quote->sentence(store)))) << std::endl;
}

void write_note(Console& console, bool events, const Text& text)
{
    if (events)
        write_event(console.err, {{"event", "note"}, {"text", for_scripts(text)}});
    else
        console.err << visible(console.wording.of(Text("note: {0}", text))) << std::endl;
}

} // namespace palimpsest::app
