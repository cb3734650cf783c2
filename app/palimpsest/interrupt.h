// Ctrl-C and SIGTERM: the first asks for a stop, the second stops now. SIGPIPE and SIGXFSZ are ignored, so that
// a closed pipe and a file that may not grow are failed writes.
#pragma once

#include <functional>
#include <stop_token>

namespace palimpsest::app {

// Call once, before any thread starts: signals are blocked everywhere and awaited by a thread of their own.
void watch_interrupts(std::stop_source source);
// Calls `restore` before the second signal ends the program, from the thread that awaits signals; empty: calls
// nothing.
void restore_on_second_signal(std::function<void()> restore);
// 130 after SIGINT, 143 after SIGTERM.
int interrupted_exit_code();

// While it lives, Ctrl-C asks this for a stop and not the program; SIGTERM asks both. One at a time.
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
