#include "kernels/cuda/cuda_context.h"

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/device_memory.h"

namespace palimpsest::kernels::cuda {
namespace {

int made_current(int device)
{
    check(cudaSetDevice(device));
    return device;
}

int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device));
    return value;
}

cudaStream_t new_stream()
{
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

} // namespace

Scratch::~Scratch()
{
    give_device_memory(data_);
}

void* Scratch::get(size_t bytes, cudaStream_t stream)
{
    if (bytes <= bytes_) return data_;
    check(cudaStreamSynchronize(stream));
    give_device_memory(data_);
    data_ = nullptr;
    bytes_ = 0;
    data_ = take_device_memory(bytes);
    bytes_ = bytes;
    return data_;
}

CudaContext::CudaContext(int device)
    : device_(made_current(device)), capability_(10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                                 attribute(cudaDevAttrComputeCapabilityMinor, device)),
      multiprocessors_(attribute(cudaDevAttrMultiProcessorCount, device)),
      most_shared_(static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device))),
      stream_(new_stream())
{
}

CudaContext::~CudaContext()
{
    if (device_failed()) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
}

void CudaContext::finish()
{
    check(cudaStreamSynchronize(stream_));
}

uint64_t CudaContext::scratch_bytes() const
{
    uint64_t bytes = ring_.device_bytes();
    for (const Scratch& scratch : scratch_)
        bytes += scratch.bytes();
    return bytes;
}

} // namespace palimpsest::kernels::cuda
