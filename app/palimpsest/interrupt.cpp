#include "app/palimpsest/interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <termios.h>
#include <thread>
#include <unistd.h>

namespace palimpsest::app {
namespace {

std::atomic<int> received{SIGINT};
std::mutex scope_mutex;
std::stop_source* scope = nullptr;

// True if the signal was meant for what is going on, and not for the program.
bool stop_scope(int signal)
{
    const std::lock_guard lock(scope_mutex);
    if (!scope) return false;
    const bool is_first = scope->request_stop();
    return signal == SIGINT && is_first; // a second one means the program
}

std::optional<termios> terminal_settings()
{
    termios settings{};
    if (tcgetattr(STDIN_FILENO, &settings) != 0) return std::nullopt;
    return settings;
}

// Nothing gets to give back what it holds, but the terminal is the user's.
[[noreturn]] void stop_now(int code, const std::optional<termios>& settings)
{
    if (settings) tcsetattr(STDIN_FILENO, TCSANOW, &*settings);
    _exit(code);
}

} // namespace

void watch_interrupts(std::stop_source source)
{
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([source, set, settings = terminal_settings()]() mutable {
        for (bool asked = false;;) {
            int signal = SIGINT;
            sigwait(&set, &signal);
            if (stop_scope(signal)) {
                continue;
            }
            received = signal;
            if (asked) stop_now(128 + signal, settings);
            asked = true;
            source.request_stop();
        }
    }).detach();
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
