// How far a rescue is, and whether it goes on.
#pragma once

#include <algorithm>
#include <functional>

#include "storage/interrupted.h"

namespace palimpsest::storage {

class RescueProgress {
public:
    // `go_on`: called with the percentage that is done; must outlive this, and may be empty.
    explicit RescueProgress(const std::function<bool(int)>& go_on) : go_on_(go_on) {}

    // Begins a step that takes these percentages of the whole.
    void begin(int first, int end)
    {
        first_ = first;
        end_ = end;
        reach(0);
    }
    // `share`: how much of the step is done, from 0 to 1. What was reached before stays.
    void reach(double share)
    {
        percent_ = std::max(percent_, first_ + static_cast<int>((end_ - first_) * std::min(share, 1.0)));
    }
    // False from the first time on that `go_on` returned false.
    bool goes_on()
    {
        is_stopped_ = is_stopped_ || (go_on_ && !go_on_(percent_));
        return !is_stopped_;
    }
    // Throws Interrupted.
    void check_stop()
    {
        if (!goes_on()) throw Interrupted{Text("stopped; nothing was changed")};
    }

private:
    const std::function<bool(int)>& go_on_;
    int first_ = 0, end_ = 0, percent_ = 0;
    bool is_stopped_ = false;
};

} // namespace palimpsest::storage
