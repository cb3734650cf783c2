#include "kernels/cuda/device/cuda_context.h"

#include <algorithm>

#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/cuda/device/compiled_code.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/device_memory.h"

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

// True if card and driver support programmatic dependent launches, in graphs too.
bool knows_overlaps(int capability)
{
    constexpr int since_capability = 90, since_driver = 12030;
    int driver = 0;
    check(cudaDriverGetVersion(&driver));
    return capability >= since_capability && driver >= since_driver;
}

} // namespace

Scratch::~Scratch()
{
    free_device(data_);
}

void Scratch::grow(size_t bytes)
{
    free_device(std::exchange(data_, nullptr));
    bytes_ = 0;
    data_ = allocate_device(bytes);
    bytes_ = bytes;
}

CudaContext::CudaContext(int device)
    : device_(made_current(device)), capability_(10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
                                                 attribute(cudaDevAttrComputeCapabilityMinor, device)),
      multiprocessors_(attribute(cudaDevAttrMultiProcessorCount, device)),
      most_shared_(static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device)))
{
    capability_ = std::min(capability_, compiled_capability());
    overlaps_ = knows_overlaps(capability_);
}

CudaContext::~CudaContext()
{
    give_back([&] { return cudaStreamSynchronize(streams_.main()); });
}

void CudaContext::finish()
{
    refuse_while_recording(Unrecordable::Wait);
    check(cudaStreamSynchronize(streams_.main()));
}

void* CudaContext::scratch_memory(ScratchUse use, size_t bytes)
{
    Scratch& scratch = scratch_[static_cast<size_t>(use)];
    if (!scratch.holds(bytes)) {
        refuse_while_recording(Unrecordable::WorkingMemory);
        finish();
        scratch.grow(bytes);
    }
    if (streams_.is_recording()) recorded_[static_cast<size_t>(use)] = scratch.data();
    return scratch.data();
}

const void* CudaContext::send_uncached(const void* host, size_t bytes)
{
    void* place = sent_.take(host, bytes);
    try {
        ring_.send_to(place, host, bytes, stream());
    } catch (...) {
        sent_.forget(place);
        throw;
    }
    return place;
}

uint64_t CudaContext::scratch_bytes() const
{
    uint64_t bytes = ring_.device_bytes() + sent_.device_bytes();
    for (const Scratch& scratch : scratch_)
        bytes += scratch.bytes();
    return bytes;
}

namespace {

Text sentence_of(Unrecordable what, const char* operation)
{
    switch (what) {
    case Unrecordable::HostMemory:
        return Text("{0} sends host memory while operations are recorded", operation);
    case Unrecordable::Wait:
        return Text("{0} waits for the device while operations are recorded", operation);
    case Unrecordable::DeviceMemory:
        return Text("{0} claims device memory while operations are recorded", operation);
    case Unrecordable::WorkingMemory:
        return Text("{0} claims working memory while operations are recorded", operation);
    case Unrecordable::Recording:
        return Text("{0} begins another recording while operations are recorded", operation);
    case Unrecordable::Replay:
        break;
    }
    return Text("{0} runs another recording while operations are recorded", operation);
}

} // namespace

void CudaContext::refuse_while_recording(Unrecordable what) const
{
    if (!streams_.is_recording()) return;
    throw Error(ErrorKind::Internal, ErrorCode::InvalidRecording, Text("recording"), sentence_of(what, operation_),
                Text("they must have run once before, and find what they read in backend memory"));
}

void CudaContext::begin_recording()
{
    refuse_while_recording(Unrecordable::Recording);
    recorded_ = {};
    streams_.begin_recording();
}

CudaContext::Recorded CudaContext::end_recording()
{
    return {streams_.end_recording(), recorded_};
}

void CudaContext::drop_recording() noexcept
{
    streams_.drop_recording();
}

bool CudaContext::is_still_there(const Places& scratch) const
{
    for (size_t use = 0; use < scratch_uses; ++use)
        if (scratch[use] != nullptr && scratch[use] != scratch_[use].data()) return false;
    return true;
}

} // namespace palimpsest::kernels::cuda
