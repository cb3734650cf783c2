// The architecture that the kernels were compiled for, which may be older than the card.
#pragma once

namespace palimpsest::kernels::cuda {

// The compute capability (90: 9.0) of the code that runs on the current device. If the driver compiled PTX of an
// older architecture for the card, this is the architecture of the PTX, not of the card. Throws Error (Resources)
// if no compiled code runs on the device.
int compiled_capability();

} // namespace palimpsest::kernels::cuda
