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
    throw Error(ErrorKind::Resources, ErrorCode::GpuMemoryFull, Text("graphics card"),
                Text("{0} of its memory are needed but {1} of {2} are free", mebibytes(bytes), mebibytes(unused),
                     mebibytes(total)),
                Text("choose a smaller {0} or {1}, or a smaller model, so that at most {2} are needed here, or set "
                     "{3} to {4}",
                     Setting::Budget, Setting::Chunk, mebibytes(unused), Setting::Device, "cpu"));
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
