// Processor time of this thread, which does not depend on other programs.
#pragma once

#include <ctime>

namespace palimpsest::ui::test {

class ThreadClock {
public:
    double elapsed_ms() const { return now_ms() - begin_; }

private:
    static double now_ms()
    {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
    }

    double begin_ = now_ms();
};

} // namespace palimpsest::ui::test
