// Signal handling: the first SIGINT or SIGTERM requests a stop, the second ends the process. SIGPIPE and SIGXFSZ
// are ignored, so that writes to a closed pipe or beyond the file size limit fail with an error.
#pragma once

#include <functional>
#include <stop_token>

namespace palimpsest::app {

// Call once, before any thread starts: blocks the signals for all threads and starts a thread that waits for them.
void watch_interrupts(const std::stop_source& source);
// Registers a function that runs before the second signal ends the process, on the signal thread; empty: none.
void restore_on_second_signal(std::function<void()> restore);
// 130 after SIGINT, 143 after SIGTERM.
int interrupted_exit_code();

// While an instance exists, SIGINT requests a stop of its token instead of the program's; SIGTERM requests both. At
// most one instance.
class InterruptScope {
public:
    InterruptScope();
    ~InterruptScope();
    InterruptScope(const InterruptScope&) = delete;
    InterruptScope& operator=(const InterruptScope&) = delete;

    std::stop_token token() const { return source_.get_token(); }

private:
    std::stop_source source_;
};

} // namespace palimpsest::app
