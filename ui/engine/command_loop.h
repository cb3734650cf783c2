// The engine thread's command loop: runs queued commands one after another, short ones also between the chunks or
// tokens of a running command, and reports how each ended.
#pragma once

#include <exception>
#include <functional>
#include <stop_token>

#include "ui/engine/command_queue.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

class CommandLoop {
public:
    explicit CommandLoop(EngineThread& owner) : owner_(owner) {} // `owner` emits finished, failed and noted

    // ---- called on any thread
    CommandQueue& queue() { return queue_; }
    CommandId add(std::function<void()> work, bool is_question = false); // as in Command
    // Adds a command that may also run in the middle of another. `may_interleave`: as in Command.
    CommandId add_short(std::function<void()> work, std::function<bool()> may_interleave);

    // ---- called on the engine thread
    // Returns once the queue is closed and empty.
    void run(const std::function<void()>& after_command);
    // Called between chunks or tokens: runs the short commands that may interleave.
    void run_interleaved();
    bool is_interleaving() const { return is_interleaving_; }
    CommandId running() const { return running_; }        // 0: none is running
    const std::stop_token& stop() const { return stop_; } // interleaved commands use that of the interrupted one
    void renew_stop() { stop_ = queue_.renew_stop(); }
    void report_failure(const std::exception& error); // of the running command; it may report several

private:
    void run_command(CommandQueue::Running running);

    EngineThread& owner_;
    CommandQueue queue_; // thread-safe

    // Used by the engine thread only.
    CommandId running_ = 0;
    std::stop_token stop_;
    bool is_interleaving_ = false;
};

} // namespace palimpsest::ui
