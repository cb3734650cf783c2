// Builds the frame that the window draws and publishes it, at most 30 times a second while a command runs.
//
// Used by the engine thread only, except take().
#pragma once

#include <QString>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "engine/session/session.h"
#include "storage/session/listener.h"
#include "ui/engine/command_queue.h"
#include "ui/engine/frame.h"
#include "ui/engine/frame_exchange.h"

namespace palimpsest::ui {

class FramePublisher {
public:
    // `notify`: as in FrameExchange. The queue must outlive this.
    FramePublisher(const CommandQueue& queue, std::function<void()> notify);

    std::shared_ptr<const Frame> take() { return exchange_.take(); } // called on any thread

    void begin_activity(Activity activity, const QString& what); // of a new command; publishes a frame
    void begin_reading(const QString& what);                     // another step of the running command
    void begin_answer();                                         // another step of the running command
    void end_activity();

    void set_share(double share) { frame_.share = share; }
    void set_seconds_left(std::optional<double> seconds) { frame_.seconds_left = seconds; }
    void set_progress(const storage::ReadingProgress& reading);
    // While notes are written: how many there are, and will be.
    void set_notes(uint64_t notes, uint64_t wanted);
    void append_answer(const QString& text) { frame_.answer += text; }

    // Copies telemetry and retained-token map of the open session into the frame.
    void update_retention(const engine::Session& session);
    // The same, but copies the map only if it was not copied recently: copying takes long for a large cache.
    void update_retention_if_due(const engine::Session& session);
    void clear_retention(); // call when no session is open

    bool is_due() const; // whether the last frame was published long enough ago
    void publish_frame();
    void publish_frame_if_due();

private:
    using Clock = std::chrono::steady_clock;

    void clear_progress();
    void copy_retention(const engine::Session& session);

    const CommandQueue& queue_;
    FrameExchange exchange_; // thread-safe
    Frame frame_;            // the next frame
    Clock::time_point published_{};
    Clock::time_point copied_{};      // when the retained-token map was copied
    Clock::duration copy_duration_{}; // how long that took
};

} // namespace palimpsest::ui
