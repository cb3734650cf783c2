// Passes the newest frame from the engine thread to the window's thread. The reader gets only the newest frame and
// is notified once per read.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "ui/engine/frame.h"

namespace palimpsest::ui {

class FrameExchange {
public:
    explicit FrameExchange(std::function<void()> notify) : notify_(std::move(notify)) {}

    void put(Frame frame)
    {
        bool notify = false;
        {
            const std::lock_guard lock(mutex_);
            frame.number = newest_->number + 1;
            newest_ = std::make_shared<const Frame>(std::move(frame));
            notify = !std::exchange(is_notified_, true);
        }
        if (notify) notify_();
    }
    std::shared_ptr<const Frame> take()
    {
        const std::lock_guard lock(mutex_);
        is_notified_ = false;
        return newest_;
    }

private:
    std::function<void()> notify_;
    std::mutex mutex_;
    std::shared_ptr<const Frame> newest_ = std::make_shared<const Frame>();
    bool is_notified_ = false; // and has not read since
};

} // namespace palimpsest::ui
