// The requested sampling and length of answers: set by the window's thread, read by the engine thread.
#pragma once

#include <mutex>

#include "engine/session/sampler.h"

namespace palimpsest::ui {

class SamplingRequest {
public:
    // `max_tokens`: limit of an answer; 0: the default.
    void set(const engine::SamplerOptions& sampling, int max_tokens)
    {
        const std::lock_guard lock(mutex_);
        sampling_ = sampling;
        max_tokens_ = max_tokens;
    }
    engine::SamplerOptions sampling() const
    {
        const std::lock_guard lock(mutex_);
        return sampling_;
    }
    int max_tokens() const
    {
        const std::lock_guard lock(mutex_);
        return max_tokens_ > 0 ? max_tokens_ : default_max_tokens;
    }

private:
    static constexpr int default_max_tokens = 1024;
    static constexpr double chat_temperature = 0.7;

    mutable std::mutex mutex_; // guards the members below
    engine::SamplerOptions sampling_{.temperature = chat_temperature};
    int max_tokens_ = 0;
};

} // namespace palimpsest::ui
