#include "app/palimpsest/interrupt.h"

#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

namespace palimpsest::app {
namespace {

std::atomic<int> received{SIGINT};

} // namespace

void watch_interrupts(std::stop_source source)
{
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::thread([source, set]() mutable {
        for (bool asked = false;; asked = true) {
            int signal = SIGINT;
            sigwait(&set, &signal);
            received = signal;
            if (asked) _exit(128 + signal);
            source.request_stop();
        }
    }).detach();
}

int interrupted_exit_code()
{
    return 128 + received;
}

} // namespace palimpsest::app
