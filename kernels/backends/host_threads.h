// Threads for work on the host.
#pragma once

#include "kernels/backend.h"

namespace palimpsest::kernels {

// The number of threads for work on the host that runs between this backend's operations: the CPU backend's own,
// one per core where a device computes.
int host_threads(const Backend& backend);

} // namespace palimpsest::kernels
