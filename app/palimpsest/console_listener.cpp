#include "app/palimpsest/console_listener.h"

#include "app/palimpsest/output.h"

namespace palimpsest::app {

void ConsoleListener::note(const std::string& sentence)
{
    write_note(console_, events_, sentence);
}

void ConsoleListener::progress(const storage::ReadingProgress& progress, const engine::Session& /*session*/)
{
    if (!progress_) progress_.emplace(console_, Progress::style_for(console_, events_));
    progress_->update(progress);
}

void ConsoleListener::saved(uint64_t tokens_seen, uint64_t bytes_written)
{
    if (!events_) return;
    write_event(console_.err,
                {{"event", "checkpoint"}, {"tokens_seen", tokens_seen}, {"bytes_written", bytes_written}});
}

void ConsoleListener::device_lost(const std::string& device)
{
    const std::string text = "the graphics card stopped responding; nothing was lost, it goes on without it; start "
                             "palimpsest again to use it again [PAL-GPU-03]";
    if (events_)
        write_event(console_.err,
                    {{"event", "device_lost"}, {"device", device}, {"goes_on_with", "cpu"}, {"text", text}});
    else
        console_.err << "note: " << text << std::endl;
}

void write_note(Console& console, bool events, const std::string& text)
{
    if (events)
        write_event(console.err, {{"event", "note"}, {"text", text}});
    else
        console.err << "note: " << visible(text) << std::endl;
}

} // namespace palimpsest::app
