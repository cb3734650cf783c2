// Passes the newest frame from the engine thread to the window's thread. put() calls `notify` for the first frame
// after each take(), not for the later ones that replace it.
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
    bool is_notified_ = false; // whether notify_ was called since the last take()
};

} // namespace palimpsest::ui
