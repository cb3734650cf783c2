// A queue of commands in order, each with a number and a stop source. Independent of Qt and of the engine.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace palimpsest::ui {

using CommandId = uint64_t;

struct Command {
    std::function<void(std::stop_token)> work;
    // For short commands: whether this one may run now, in the middle of another. Called on the engine thread with
    // the queue locked. Empty: never.
    std::function<bool()> may_interleave{};
    bool runs_after_close = false; // kept by cancel_all and executed after close
    bool is_question = false;      // about the session that is open then
};

// Thread-safe, except that only the engine thread calls next, finish, renew_stop and take_interleaved.
class CommandQueue {
public:
    CommandId push(Command command);
    void stop_running();
    // Requests a stop if the command is running; removes it if it is waiting. Returns whether it was removed.
    bool cancel(CommandId id);
    // Requests a stop of the running command. Returns the waiting commands that were removed: all but those with
    // runs_after_close.
    std::vector<CommandId> cancel_all();
    void close(); // push then ignores commands without runs_after_close; next returns nullopt once none waits
    bool is_idle() const; // no command is running or waiting
    int waiting() const;
    // Whether the command waits, and all that run before it are questions or may interleave, so that none changes
    // what it asks about.
    bool waits_behind_questions(CommandId id) const;

    struct Running {
        CommandId id;
        Command command;
        std::stop_token stop;
    };
    std::optional<Running> next(); // blocks until there is one
    void finish();                 // ends the command that next() returned
    // After a stop, returns a new stop token for the remaining work of the running command, which a second stop
    // ends. The new token is stopped already if cancel_all was called since the command began.
    std::stop_token renew_stop();
    std::optional<Running> take_interleaved();

private:
    struct Entry {
        CommandId id;
        Command command;
        std::stop_source stop;
    };
    std::optional<Running> take(std::list<Entry>::iterator entry);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Entry> waiting_;
    std::optional<CommandId> running_;
    std::stop_source running_stop_{std::nostopstate};
    bool all_cancelled_ = false; // cancel_all was called since the running command began
    CommandId last_ = 0;
    bool closed_ = false;
};

} // namespace palimpsest::ui
