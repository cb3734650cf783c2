#include "app/palimpsest/measuring.h"

#include <utility>

#include "app/palimpsest/console_listener.h"
#include "storage/session/pinning.h"
#include "storage/session/reading_meter.h"

namespace palimpsest::app {

engine::Pins pins_to_measure(const engine::Model& model, const CommonOptions& options, const SourceTokens& tokens,
                             const TokenSource& source, Console& console)
{
    auto found = storage::pins_in(tokens.ids, options.pins, model, Text::verbatim(source.name()));
    for (const Text& note : found.notes)
        write_note(console, options.events, note);
    return std::move(found.pins);
}

storage::KnownLength length_to_measure(uint64_t tokens, uint64_t added, uint64_t more)
{
    return {.input = tokens - added, .stream = tokens + more};
}

engine::MeasuredReading measured_reading(const std::shared_ptr<const engine::Model>& model,
                                         const CommonOptions& options, const SourceTokens& tokens,
                                         const engine::Pins& pins, std::vector<uint64_t> lengths)
{
    engine::SessionOptions chosen =
        options.session(model->config(), length_to_measure(tokens.ids.size(), tokens.added));
    chosen.pins = pins;
    return {model, std::move(chosen), tokens.ids, std::move(lengths)};
}

bool read_all(engine::MeasuredReading& reading, const SourceTokens& tokens, const std::string& what,
              const CommonOptions& options, Console& console,
              const std::function<void(uint64_t, engine::TokenId, double)>& loss)
{
    ConsoleListener listener(console, options.events);
    storage::ReadingMeter progress(listener, what);
    engine::FeedOptions feed;
    feed.stop = console.stop;
    feed.progress = [&](const engine::Telemetry& now) {
        progress.update(reading.session(), now, 0, tokens.ids.size());
    };
    feed.loss = loss;
    return reading.read_all(feed);
}

} // namespace palimpsest::app
