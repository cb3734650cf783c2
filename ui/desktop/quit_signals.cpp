#include "ui/desktop/quit_signals.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

namespace palimpsest::ui {
namespace {

int ends[2] = {-1, -1}; // pipe that the signal handler writes to

void tell(int signal)
{
    const int before = errno;
    const char byte = static_cast<char>(signal);
    [[maybe_unused]] const auto written = write(ends[1], &byte, 1);
    errno = before;
}

int open_pipe()
{
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    struct sigaction action = {};
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND); // SA_RESETHAND: a second signal ends the process
    for (const int signal : {SIGPIPE, SIGXFSZ}) // ignored, so that write() returns an error instead
        std::signal(signal, SIG_IGN);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
    return ends[0];
}

} // namespace

QuitSignals::QuitSignals(QObject* parent) : QObject(parent), notifier_(open_pipe(), QSocketNotifier::Read)
{
    connect(&notifier_, &QSocketNotifier::activated, this, &QuitSignals::take);
}

void QuitSignals::take()
{
    unsigned char byte = 0;
    while (read(ends[0], &byte, 1) == 1)
        if (received_ == 0) received_ = byte;
    Q_EMIT quit_wanted();
}

} // namespace palimpsest::ui
