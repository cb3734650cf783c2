#include "tests/support/simt/runtime_api.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "tests/support/simt/device_memory.h"
#include "tests/support/simt/stream_capture.h"
#include "tests/support/simt/traffic.h"

namespace {

using simt::refuse_any_capture;
using simt::refuse_capture_of;
using simt::remember;
using simt::submit;
using simt::Work;

constexpr int usual_shared = 48 * 1024;

struct Failure {
    uint64_t calls_left = 0;
    cudaError_t error = cudaSuccess;
    bool sticks = false; // a call has failed, and every later call fails
};

// The single device and its allocations.
struct Device {
    simt::DeviceShape shape;
    simt::DeviceMemory memory;
    size_t withheld = 0; // occupied by other programs
    std::map<void*, size_t> pinned;
    std::map<const void*, int> most_shared; // per kernel that opted in: bytes per block
    cudaError_t last = cudaSuccess;
    std::optional<Failure> failure;
    uint64_t calls = 0, overlapping_launches = 0, calls_after_failure = 0;
    int max_threads = 0;
};

Device& device()
{
    static Device* const one = new Device; // never destroyed: handles may be released during process exit
    return *one;
}

size_t free_bytes()
{
    const size_t taken = device().memory.used() + device().withheld;
    return simt::DeviceMemory::total - std::min(simt::DeviceMemory::total, taken);
}

cudaError_t fail_this_call(bool allocates)
{
    std::optional<Failure>& failure = device().failure;
    const bool once = failure->error == cudaErrorMemoryAllocation;
    if (once && !allocates) return cudaSuccess;
    if (failure->calls_left > 0) {
        --failure->calls_left;
        return cudaSuccess;
    }
    const cudaError_t error = failure->error;
    if (once)
        failure.reset();
    else
        failure->sticks = true;
    return remember(error);
}

bool on_device(const void* data, size_t bytes)
{
    return bytes == 0 || device().memory.holds(data, bytes);
}

// Whether source and destination are in device or host memory, as `kind` says.
bool fits_kind(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind)
{
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) return true;
    return (to_device ? on_device(to, bytes) : !device().memory.is_near(to)) &&
           (from_device ? on_device(from, bytes) : !device().memory.is_near(from));
}

template<class Handle>
cudaError_t make(Handle** handle)
{
    *handle = nullptr;
    if (const cudaError_t failed = simt::enter()) return failed;
    *handle = new Handle;
    return cudaSuccess;
}

template<class Handle>
cudaError_t destroy(Handle* handle)
{
    simt::count_after_failure();
    if (!handle) return remember(cudaErrorInvalidValue);
    delete handle;
    return cudaSuccess;
}

bool lies_in(const std::map<void*, size_t>& owner, const void* data)
{
    auto after = owner.upper_bound(const_cast<void*>(data));
    if (after == owner.begin()) return false;
    --after;
    return static_cast<const char*>(data) < static_cast<const char*>(after->first) + after->second;
}

void count_launch(cudaStream_t stream)
{
    if (!simt::is_captured(stream)) ++simt::device_traffic().launches;
}

// The device itself performs a captured copy, so the host memory must not be pageable.
bool is_reached_by_device(const void* to, const void* from, cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyHostToDevice) return lies_in(device().pinned, from);
    if (kind == cudaMemcpyDeviceToHost) return lies_in(device().pinned, to);
    return kind == cudaMemcpyDeviceToDevice;
}

bool is_pageable(const void* to, const void* from, cudaMemcpyKind kind)
{
    return kind != cudaMemcpyDeviceToDevice && !is_reached_by_device(to, from, kind);
}

void count_copy(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind)
{
    simt::Traffic& traffic = simt::device_traffic();
    const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
    traffic.copies_up += up;
    traffic.copies_down += down;
    traffic.bytes_up += up ? bytes : 0;
    traffic.bytes_down += down ? bytes : 0;
    traffic.pageable += is_pageable(to, from, kind);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind)
{
    if (!fits_kind(to, from, bytes, kind)) return remember(cudaErrorInvalidValue);
    count_copy(to, from, bytes, kind);
    const simt::DeviceMemory::Access access(device().memory);
    if (bytes) std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind)
{
    cudaError_t status = width > to_pitch || width > from_pitch ? remember(cudaErrorInvalidValue) : cudaSuccess;
    for (size_t row = 0; row < height && status == cudaSuccess; ++row)
        status = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                      width, kind);
    return status;
}

cudaError_t fill(void* data, int value, size_t bytes)
{
    if (!on_device(data, bytes)) return remember(cudaErrorInvalidValue);
    const simt::DeviceMemory::Access access(device().memory);
    if (bytes) std::memset(data, value, bytes);
    return cudaSuccess;
}

cudaError_t attribute_of(cudaDeviceAttr attribute, int& value)
{
    const simt::DeviceShape& shape = device().shape;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
        value = 1024;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        value = usual_shared;
        break;
    case cudaDevAttrMultiProcessorCount:
        value = shape.multiprocessors;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        value = shape.capability / 10;
        break;
    case cudaDevAttrComputeCapabilityMinor:
        value = shape.capability % 10;
        break;
    case cudaDevAttrL2CacheSize:
        value = 1 << 22;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        value = shape.most_shared + 1024;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        value = shape.most_shared;
        break;
    default:
        return remember(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

bool fits(const dim3& blocks, const dim3& threads)
{
    const auto within = [](const dim3& size, unsigned x, unsigned y, unsigned z) {
        return size.x >= 1 && size.x <= x && size.y >= 1 && size.y <= y && size.z >= 1 && size.z <= z;
    };
    return within(blocks, 0x7fffffff, 65535, 65535) && within(threads, 1024, 1024, 64) &&
           threads.x * threads.y * threads.z <= 1024;
}

} // namespace

namespace simt {

DeviceMemory& device_memory()
{
    return device().memory;
}

cudaError_t remember(cudaError_t status)
{
    if (status != cudaSuccess) device().last = status;
    return status;
}

void set_device(const DeviceShape& shape)
{
    device().shape = shape;
}

int compiled_for()
{
    const DeviceShape& shape = device().shape;
    return shape.compiled_for > 0 ? shape.compiled_for : shape.capability;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, void (*body)(const void*),
                   std::shared_ptr<const void> arguments)
{
    if (!fits(config.gridDim, config.blockDim)) return remember(cudaErrorInvalidConfiguration);
    const auto opted_in = device().most_shared.find(kernel);
    // The limit is for static and dynamic memory together. The static size is unknown here, so at most most_static
    // is assumed.
    constexpr int most_static = 24 * 1024;
    const int most = opted_in == device().most_shared.end() ? usual_shared - most_static : opted_in->second;
    if (config.dynamicSmemBytes > static_cast<size_t>(most)) return remember(cudaErrorInvalidValue);
    device().overlapping_launches += config.numAttrs;
    count_launch(config.stream);
    const dim3& block = config.blockDim;
    device().max_threads = std::max(device().max_threads, static_cast<int>(block.x * block.y * block.z));
    const Grid grid{config.gridDim, block, config.dynamicSmemBytes, body, std::move(arguments)};
    return submit(config.stream, Work(grid, config.numAttrs > 0));
}

cudaError_t enter(bool allocates)
{
    ++device().calls;
    return device().failure ? fail_this_call(allocates) : cudaSuccess;
}

void fail_after(uint64_t calls, cudaError_t error)
{
    device().failure = {.calls_left = calls, .error = error};
    device().calls_after_failure = 0;
}

void stop_failing()
{
    device().failure.reset();
    device().last = cudaSuccess;
    forget_captures();
}

uint64_t overlapping_launches()
{
    return device().overlapping_launches;
}

uint64_t calls()
{
    return device().calls;
}

uint64_t calls_after_failure()
{
    return device().calls_after_failure;
}

void count_after_failure()
{
    if (device().failure && device().failure->sticks) ++device().calls_after_failure;
}

int max_threads()
{
    return device().max_threads;
}

void forget_threads()
{
    device().max_threads = 0;
}

void forbid_host_access(bool out)
{
    device().memory.forbid_host_access(out);
}

void withhold(size_t bytes)
{
    device().withheld = bytes;
}

} // namespace simt

const char* cudaGetErrorName(cudaError_t error)
{
    return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}

const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    default:
        return "unknown error";
    }
}

cudaError_t cudaGetLastError()
{
    return std::exchange(device().last, cudaSuccess);
}

cudaError_t cudaPeekAtLastError()
{
    return device().last;
}

cudaError_t cudaGetDeviceCount(int* count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
    return number == 0 ? simt::enter() : remember(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int* number)
{
    *number = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number)
{
    if (number != 0) return remember(cudaErrorInvalidDevice);
    const simt::DeviceShape& shape = device().shape;
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "emulated device");
    properties->totalGlobalMem = simt::DeviceMemory::total;
    properties->sharedMemPerBlock = static_cast<size_t>(usual_shared);
    properties->sharedMemPerBlockOptin = static_cast<size_t>(shape.most_shared);
    properties->sharedMemPerMultiprocessor = static_cast<size_t>(shape.most_shared) + 1024;
    properties->major = shape.capability / 10;
    properties->minor = shape.capability % 10;
    properties->multiProcessorCount = shape.multiprocessors;
    properties->warpSize = warpSize;
    properties->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int number)
{
    return number == 0 ? attribute_of(attribute, *value) : remember(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceSynchronize()
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    return simt::wait_for(simt::submitted_so_far());
}

cudaError_t cudaDriverGetVersion(int* version)
{
    *version = 12040;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version)
{
    *version = 12000;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total)
{
    *total = simt::DeviceMemory::total;
    *free = free_bytes();
    return simt::enter();
}

cudaError_t cudaMalloc(void** data, size_t bytes)
{
    *data = nullptr;
    if (const cudaError_t failed = simt::enter(true)) return failed;
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    if (bytes == 0) return cudaSuccess;
    if (bytes <= free_bytes()) *data = device().memory.take(bytes);
    return *data ? cudaSuccess : remember(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* data)
{
    simt::count_after_failure();
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    simt::run_queued(); // cudaFree waits for the device
    return !data || device().memory.give(data) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** data, size_t bytes)
{
    *data = nullptr;
    if (const cudaError_t failed = simt::enter(true)) return failed;
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    if (bytes == 0) return cudaSuccess;
    *data = ::operator new (bytes, std::align_val_t{256}, std::nothrow);
    if (!*data) return remember(cudaErrorMemoryAllocation);
    std::memset(*data, 0xff, bytes);
    device().pinned[*data] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned)
{
    return cudaMallocHost(data, bytes);
}

cudaError_t cudaFreeHost(void* data)
{
    simt::count_after_failure();
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    simt::run_queued();
    if (!data) return cudaSuccess;
    if (device().pinned.erase(data) == 0) return remember(cudaErrorInvalidValue);
    ::operator delete (data, std::align_val_t{256});
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    if (const cudaError_t status = simt::run_queued()) return status;
    return copy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (simt::is_captured(stream) && !is_reached_by_device(to, from, kind)) return refuse_capture_of(stream);
    if (kind == cudaMemcpyDeviceToDevice) count_launch(stream);
    const cudaError_t submitted = submit(stream, Work([=] { return copy(to, from, bytes, kind); }));
    if (submitted != cudaSuccess || !simt::is_late(stream)) return submitted;
    if (is_pageable(to, from, kind)) return simt::run_queued();       // the driver returns after the transfer
    if (kind == cudaMemcpyDeviceToHost) std::memset(to, 0x7f, bytes); // undefined until the host waits
    return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    if (const cudaError_t status = simt::run_queued()) return status;
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (simt::is_captured(stream) && !is_reached_by_device(to, from, kind)) return refuse_capture_of(stream);
    return submit(stream, Work([=] { return copy_rows(to, to_pitch, from, from_pitch, width, height, kind); }));
}

cudaError_t cudaMemset(void* data, int value, size_t bytes)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    const cudaError_t refused = refuse_any_capture();
    return refused == cudaSuccess ? cudaMemsetAsync(data, value, bytes) : refused;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream)
{
    count_launch(stream);
    return submit(stream, Work([=] { return fill(data, value, bytes); }));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream)
{
    return make(stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
    return make(stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    const cudaError_t refused = refuse_capture_of(stream);
    return refused == cudaSuccess ? destroy(stream) : refused;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (const cudaError_t refused = refuse_capture_of(stream)) return refused;
    return simt::wait_for(simt::submitted_so_far());
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    return refuse_capture_of(stream);
}

cudaError_t cudaEventCreate(cudaEvent_t* event)
{
    return make(event);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned)
{
    return make(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return destroy(event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (const cudaError_t failed = simt::enter()) return failed;
    if (event->capture) return remember(cudaErrorCapturedEvent);
    if (const cudaError_t refused = refuse_any_capture()) return refused;
    return event->recorded ? simt::wait_for(event->behind) : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t)
{
    *milliseconds = 0;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*)
{
    const simt::DeviceShape& shape = device().shape;
    attributes->ptxVersion = shape.reports_ptx_version ? simt::compiled_for() : 0;
    attributes->binaryVersion = shape.capability;
    return simt::enter();
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value > device().shape.most_shared) return remember(cudaErrorInvalidValue);
    device().most_shared[kernel] = value;
    return cudaSuccess;
}
