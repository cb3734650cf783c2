#include "app/palimpsest/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace palimpsest::app {
namespace {

std::atomic<int> received{SIGINT};
std::mutex scope_mutex;
std::stop_source* scope = nullptr;
std::mutex restore_mutex;
std::function<void()> restore_at_end;

// Requests a stop of the InterruptScope, if one exists. Returns true if the program itself goes on.
bool stop_scope(int signal)
{
    const std::lock_guard lock(scope_mutex);
    if (!scope) return false;
    const bool is_first = scope->request_stop();
    return signal == SIGINT && is_first; // a second SIGINT stops the program
}

// Skips destructors, but restores the terminal settings, which outlive the process.
[[noreturn]] void stop_now(int code)
{
    const std::lock_guard lock(restore_mutex);
    if (restore_at_end) restore_at_end();
    _exit(code);
}

} // namespace

void watch_interrupts(const std::stop_source& source)
{
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([source = std::stop_source(source), set]() mutable {
        for (bool asked = false;;) {
            int signal = SIGINT;
            sigwait(&set, &signal);
            if (stop_scope(signal)) {
                continue;
            }
            received = signal;
            if (asked) stop_now(128 + signal);
            asked = true;
            source.request_stop();
        }
    }).detach();
}

void restore_on_second_signal(std::function<void()> restore)
{
    const std::lock_guard lock(restore_mutex);
    restore_at_end = std::move(restore);
}

InterruptScope::InterruptScope()
{
    const std::lock_guard lock(scope_mutex);
    scope = &source_;
}

InterruptScope::~InterruptScope()
{
    const std::lock_guard lock(scope_mutex);
    scope = nullptr;
}

int interrupted_exit_code()
{
    return 128 + received;
}

} // namespace palimpsest::app
