// Device memory allocation, with an error that says how much memory is missing.
#pragma once

#include <cstddef>

namespace palimpsest::kernels::cuda {

// Allocates uninitialised memory on the current device, 256-byte aligned. Throws Error (Resources, GpuMemoryFull)
// that states the memory needed, the memory free, and what to choose instead.
void* allocate_device(size_t bytes);

// Waits for kernels that may still use the memory. Null is allowed; after a sticky error nothing is freed.
void free_device(void* data) noexcept;

} // namespace palimpsest::kernels::cuda
