// What the kernels were compiled for, which is not always what the card could do.
#pragma once

namespace palimpsest::kernels::cuda {

// The compute capability (90: 9.0) of the code that runs on the current device: that of the source it was compiled
// from, not of the card where the driver has compiled older code for it. Throws Error (Resources) if none of it
// runs there.
int compiled_capability();

} // namespace palimpsest::kernels::cuda
