#include "kernels/cuda/device/device_memory.h"

#include <cstdio>
#include <string>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_error.h"

namespace palimpsest::kernels::cuda {
namespace {

std::string mebibytes(size_t bytes)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
    return text;
}

[[noreturn]] void refuse(size_t bytes)
{
    size_t unused = 0, total = 0;
    check(cudaMemGetInfo(&unused, &total));
    throw Error(ErrorKind::Resources, "PAL-GPU-02", "graphics card",
                mebibytes(bytes) + " of its memory are needed but " + mebibytes(unused) + " of " +
                    mebibytes(total) + " are free",
                "choose a budget, chunk or model that needs at most " + mebibytes(unused) +
                    " here, or --device cpu");
}

} // namespace

void* allocate_device(size_t bytes)
{
    void* data = nullptr;
    const cudaError_t status = cudaMalloc(&data, bytes);
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        refuse(bytes);
    }
    check(status);
    return data;
}

void free_device(void* data) noexcept
{
    if (data != nullptr) give_back([&] { return cudaFree(data); });
}

} // namespace palimpsest::kernels::cuda
