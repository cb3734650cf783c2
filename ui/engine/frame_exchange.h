// Passes the newest frame from the engine thread to the window's thread. The reader gets only the newest frame and
// is notified once per read.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "ui/engine/frame.h"

namespace palimpsest::ui {

class FrameExchange {
public:
    explicit FrameExchange(std::function<void()> tell) : tell_(std::move(tell)) {}

    void put(Frame frame)
    {
        bool tell = false;
        {
            const std::lock_guard lock(mutex_);
            frame.number = newest_->number + 1;
            newest_ = std::make_shared<const Frame>(std::move(frame));
            tell = !std::exchange(told_, true);
        }
        if (tell) tell_();
    }
    std::shared_ptr<const Frame> take()
    {
        const std::lock_guard lock(mutex_);
        told_ = false;
        return newest_;
    }

private:
    std::function<void()> tell_;
    std::mutex mutex_;
    std::shared_ptr<const Frame> newest_ = std::make_shared<const Frame>();
    bool told_ = false;
};

} // namespace palimpsest::ui
