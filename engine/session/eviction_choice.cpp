// Chooses how a session evicts: on the device if the cache is device-resident, otherwise on the host.
#include "engine/session/device_eviction.h"
#include "engine/session/host_eviction.h"

namespace palimpsest::engine {

std::unique_ptr<SessionEviction> Session::eviction_of(const CacheShape& shape)
{
    if (shape.resident) return std::make_unique<DeviceEviction>(*this, DeviceLists(shape, model_->backend()));
    return std::make_unique<HostEviction>(*this, HostLists(shape));
}

} // namespace palimpsest::engine
