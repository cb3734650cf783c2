// Chooses a session's side of the forward pass by who keeps the lists.
#include "engine/session/device_eviction.h"
#include "engine/session/host_eviction.h"

namespace palimpsest::engine {

void Session::make_eviction()
{
    if (cache_.resident())
        eviction_ = std::make_unique<DeviceEviction>(*this);
    else
        eviction_ = std::make_unique<HostEviction>(*this);
}

} // namespace palimpsest::engine
