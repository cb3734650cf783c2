// Chooses a session's side of the forward pass by who keeps the lists.
#include "engine/session/device_step.h"
#include "engine/session/host_step.h"

namespace palimpsest::engine {

void Session::make_step()
{
    if (cache_.resident())
        step_ = std::make_unique<DeviceStep>(*this);
    else
        step_ = std::make_unique<HostStep>(*this);
}

} // namespace palimpsest::engine
