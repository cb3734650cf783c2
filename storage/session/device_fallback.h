// If the device fails, moves the session to the CPU and repeats the operation; an answer continues after its last
// token.
#pragma once

#include <functional>
#include <utility>

#include "storage/session/device_loss.h"
#include "storage/session/stream_feeder.h"

namespace palimpsest::storage {

class DeviceFallback {
public:
    using MoveToCpu = std::function<void(LastDocument)>;
    // `move_to_cpu` opens the session on the CPU and catches up; throws Error if it cannot.
    explicit DeviceFallback(MoveToCpu move_to_cpu) : move_to_cpu_(std::move(move_to_cpu)) {}

    template<class Operation>
    auto run(const Operation& operation, LastDocument last = LastDocument::Finish) const
    {
        try {
            return operation();
        } catch (const Error& error) {
            if (!is_device_loss(error)) throw;
        }
        move_to_cpu_(last);
        return operation();
    }
    void move_to_cpu(LastDocument last) const { move_to_cpu_(last); }

private:
    MoveToCpu move_to_cpu_;
};

} // namespace palimpsest::storage
