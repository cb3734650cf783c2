// The session's side of a forward pass, as a session sees it: host_step.h and device_step.h implement it.
#pragma once

#include "engine/model/forward/transformer.h"

namespace palimpsest::engine {

class SessionStep : public LayerStep {
public:
    virtual void plan_token() {} // before a generated token, unless there is an observer
    // Ends prefill: runs one eviction step without a chunk. REQUIRES: row = rank.
    virtual void end_prefill() = 0;
};

} // namespace palimpsest::engine
