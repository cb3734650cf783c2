#include "kernels/cuda/device/compiled_code.h"

#include <cuda_runtime.h>

#include <memory>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/device_memory.h"

namespace palimpsest::kernels::cuda {
namespace {

// The compute capability that this code was compiled for; 90: sm_90.
#ifdef __CUDACC__
__device__ int compiled_for()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__ / 10;
#else
    return 0;
#endif
}
#else
int compiled_for()
{
    return simt::compiled_for();
}
#endif

__global__ void write_compiled_for(int* to)
{
    *to = compiled_for();
}

// Runs a kernel that reports the capability it was compiled for. Does not use launch(): there is no CudaContext
// yet.
int compiled_for_by_its_own_account()
{
    const std::unique_ptr<void, void (*)(void*)> memory(allocate_device(sizeof(int)), free_device);
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = dim3(1);
    check(cudaLaunchKernelEx(&config, write_compiled_for, static_cast<int*>(memory.get())));
    int capability = 0;
    check(cudaMemcpy(&capability, memory.get(), sizeof capability, cudaMemcpyDeviceToHost));
    return capability;
}

} // namespace

int compiled_capability()
{
    cudaFuncAttributes of{};
    const cudaError_t status = cudaFuncGetAttributes(&of, reinterpret_cast<const void*>(write_compiled_for));
    if (status == cudaErrorNoKernelImageForDevice) {
        cudaGetLastError();
        throw Error(
            ErrorKind::Resources, ErrorCode::GpuUnsupported, Text("graphics card"),
            Text("this build has no code for its compute capability"),
            Text("build with it in PALIMPSEST_CUDA_ARCHITECTURES, or set {0} to {1}", Setting::Device, "cpu"));
    }
    check(status);
    if (of.ptxVersion > 0) return of.ptxVersion;
    // Some drivers do not report ptxVersion, and binaryVersion is the card's if the driver compiled the PTX.
    return compiled_for_by_its_own_account();
}

} // namespace palimpsest::kernels::cuda
