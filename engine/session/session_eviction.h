// The session's side of a forward pass, as a session sees it: host_eviction.h and device_eviction.h implement it.
#pragma once

#include "engine/model/forward/transformer.h"

namespace palimpsest::engine {

class SessionEviction : public LayerEviction {
public:
    virtual void plan_token() {} // before a generated token, unless there is an observer
    // Ends prefill: runs one eviction step without a chunk. REQUIRES: row = rank.
    virtual void end_prefill() = 0;
};

} // namespace palimpsest::engine
