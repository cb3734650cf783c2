// The eviction step of a session, with the lists it keeps: host_eviction.h and device_eviction.h implement it.
#pragma once

#include <memory>

#include "engine/cache/token_lists.h"
#include "engine/model/forward/layer_eviction.h"

namespace palimpsest::engine {

class Session;

class SessionEviction : public LayerEviction {
public:
    virtual TokenLists& lists() = 0;
    // Copies the lists for another session with a cache of the same shape. REQUIRES: synced.
    virtual std::unique_ptr<SessionEviction> clone(Session& other) const = 0;
    virtual void plan_token() {} // called before each generated token, unless there is an observer
};

} // namespace palimpsest::engine
