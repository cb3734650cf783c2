// Conversion of CUDA runtime errors to Error.
#pragma once

#include <cuda_runtime.h>

namespace palimpsest::kernels::cuda {

// Throws Error (Resources): GpuMemoryFull if memory is short, GpuLost if the device has failed and this process
// cannot use it any more ("sticky"), GpuRefused otherwise.
void check(cudaError_t status);
// For code that must not throw: only records a failed device.
void note(cudaError_t status) noexcept;

// True after a sticky error: every later CUDA call of this process would fail, too.
bool device_failed();
// Releases a resource where nothing may be thrown. Does not call a failed device; records a device that fails
// here.
template<class Call>
void give_back(Call&& call) noexcept
{
    if (!device_failed()) note(call());
}
// Clears device_failed(), for tests that simulate a new process.
void forget_failure();

} // namespace palimpsest::kernels::cuda
