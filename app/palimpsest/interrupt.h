// Ctrl-C and SIGTERM: the first asks for a stop, the second stops now. SIGPIPE is ignored, so that a closed pipe is
// a failed write.
#pragma once

#include <stop_token>

namespace palimpsest::app {

// Call once, before any thread starts: signals are blocked everywhere and awaited by a thread of their own.
void watch_interrupts(std::stop_source source);
// 130 after SIGINT, 143 after SIGTERM.
int interrupted_exit_code();

} // namespace palimpsest::app
