// Errors of the CUDA runtime as ours (reliability.md, P12 and P13).
#pragma once

#include <cuda_runtime.h>

namespace palimpsest::kernels::cuda {

// Throws Error (Resources): PAL-GPU-02 where memory is short, PAL-GPU-03 where the device has failed and cannot be
// used any more in this process ("sticky"), PAL-GPU-04 otherwise.
void check(cudaError_t status);
// Where nothing may be thrown: only remembers a failed device.
void note(cudaError_t status) noexcept;

// True once a sticky error was seen: every later call of this process would fail, too.
bool device_failed();
// Gives something back where nothing may be thrown: nothing is asked of a device that has failed, and one that
// fails here is remembered.
template<class Call>
void give_back(Call&& call) noexcept
{
    if (!device_failed()) note(call());
}
// For tests, to which what follows is another process.
void forget_failure();

} // namespace palimpsest::kernels::cuda
