// Prints the events of a session as text or, with --events, as JSON lines: notes, progress, checkpoints, a lost
// device.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "app/palimpsest/console.h"
#include "app/palimpsest/progress.h"
#include "kernels/base/text.h"
#include "storage/session/listener.h"

namespace palimpsest::app {

class ConsoleListener final : public storage::Listener {
public:
    ConsoleListener(Console& console, bool events) : console_(console), events_(events) {}

    void note(const Text& sentence) override;
    void progress(const storage::ReadingProgress& progress, const engine::Session& session) override;
    void found(const storage::Rereading& passages, storage::Store& store) override;
    void reading_ended() override { progress_.reset(); }
    void saved(uint64_t tokens_seen, uint64_t bytes_written) override;
    void device_lost(const std::string& device) override;
    std::stop_token stop() const override { return console_.stop; }

    // What was found for the last message, as JSON; null if nothing was looked for or found.
    nlohmann::ordered_json take_rereading() { return std::exchange(rereading_, nullptr); }

private:
    Console& console_;
    bool events_;
    std::optional<Progress> progress_; // of the current reading
    nlohmann::ordered_json rereading_;
};

// Prints a note or an event to standard error.
void write_note(Console& console, bool events, const Text& text);

} // namespace palimpsest::app
