#include "kernels/cuda/compiled_code.h"

#include "kernels/base/error.h"
#include "kernels/cuda/device.h"

namespace palimpsest::kernels::cuda {
namespace {

__global__ void any_kernel() {}

} // namespace

int compiled_capability()
{
    cudaFuncAttributes of{};
    const cudaError_t status = cudaFuncGetAttributes(&of, reinterpret_cast<const void*>(any_kernel));
    if (status == cudaErrorNoKernelImageForDevice) {
        cudaGetLastError();
        throw Error(ErrorKind::Resources, "PAL-GPU-05", "graphics card",
                    "this build has no code for its compute capability",
                    "build with it in PALIMPSEST_CUDA_ARCHITECTURES, or choose --device cpu");
    }
    check(status);
    return of.ptxVersion > 0 ? of.ptxVersion : of.binaryVersion; // some drivers do not say the first
}

} // namespace palimpsest::kernels::cuda
