// Prints the events of a session as text or, with --events, as JSON lines: notes, progress, checkpoints, a lost
// device.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/palimpsest/console.h"
#include "app/palimpsest/progress.h"
#include "kernels/base/text.h"
#include "storage/session/answer_support.h"
#include "storage/session/listener.h"

namespace palimpsest::app {

class ConsoleListener final : public storage::Listener {
public:
    ConsoleListener(Console& console, bool events) : console_(console), events_(events) {}

    void note(const Text& sentence) override;
    void progress(const storage::ReadingProgress& progress, const engine::Session& session) override;
    void found(const storage::Rereading& passages, storage::Store& store) override;
    void reading_ended() override { progress_.reset(); }
    void noted(const storage::Note& note, storage::Store& store) override;
    void saved(uint64_t tokens_seen, uint64_t bytes_written) override;
    void device_lost(const std::string& device) override;
    std::stop_token stop() const override { return console_.stop; }

    // Returns and forgets the passages that found() was last called with; absent if it was not called since.
    std::optional<storage::Rereading> take_found() { return std::exchange(found_, std::nullopt); }

private:
    Console& console_;
    bool events_;
    std::optional<Progress> progress_; // of the current reading
    std::optional<storage::Rereading> found_;
};

// Prints the sentence that supports an answer, and what of it is not supported, to standard error: as text unless
// `json` holds the answer, or as an event.
void write_support(Console& console, bool events, bool json, const storage::AnswerSupport& support,
                   storage::Store& store);
// The members `answered_from`, `excerpts`, `reread`, `quote` and `unsupported` of an answer (docs/formats.md,
// Answers and turns). `found`: null if nothing was looked up; then `store` may be null, too.
void add_support(nlohmann::ordered_json& answer, const storage::Rereading* found,
                 const storage::AnswerSupport& support, storage::Store* store);
// Prints a note or an event to standard error.
void write_note(Console& console, bool events, const Text& text);

} // namespace palimpsest::app
