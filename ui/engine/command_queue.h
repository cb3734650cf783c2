// Commands in order, each with a number and a stop of its own. No Qt and no engine in here.
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
    // Of a short one: whether it may run now, in the middle of another. Asked on the obeying thread, with the queue
    // locked. Empty: never.
    std::function<bool()> may_cut_in{};
    bool at_the_end_too = false; // neither cancel_all nor close takes it back
};

// Any thread may call anything; next, finish and take_one_that_cuts_in are the obeying thread's.
class CommandQueue {
public:
    CommandId push(Command command);
    void stop_running();
    // Stops it if it runs. True if it waited: then it is gone, and will not run.
    bool cancel(CommandId id);
    // Stops what runs; returns what waited and is gone, which is all that need not be done at the end too.
    std::vector<CommandId> cancel_all();
    void close();         // only that is taken from now on; next returns nothing once what waits is gone
    bool is_idle() const; // nothing runs or waits
    int waiting() const;

    struct Running {
        CommandId id;
        Command command;
        std::stop_token stop;
    };
    std::optional<Running> next(); // waits for one
    void finish();                 // the one that next returned
    // What runs was asked to stop, and has something left to do that a further stop ends. Stopped at once after
    // cancel_all.
    std::stop_token renew_stop();
    std::optional<Running> take_one_that_cuts_in();

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
    bool all_cancelled_ = false; // since it began to run
    CommandId last_ = 0;
    bool closed_ = false;
};

} // namespace palimpsest::ui
