// Taking device memory, with a refusal that says what is short.
#pragma once

#include <cstddef>

namespace palimpsest::kernels::cuda {

// Uninitialised memory of the current device, 256-byte aligned. Throws Error (Resources, PAL-GPU-02) that names
// what is needed, what is free and what would fit.
void* take_device_memory(size_t bytes);

// Waits for kernels that may still use it. Null is allowed; after a sticky error nothing is given back.
void give_device_memory(void* data) noexcept;

} // namespace palimpsest::kernels::cuda
