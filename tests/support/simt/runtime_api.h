// The part of the CUDA runtime that the backend uses, on host memory. Calls complete before they return, except in
// captured streams. Operations that a real capture refuses are refused and invalidate the capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "tests/support/simt/grid.h"

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorCudartUnloading = 4,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidKernelImage = 200,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorECCUncorrectable = 214,
    cudaErrorInvalidPtx = 218,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorIllegalState = 401,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchTimeout = 702,
    cudaErrorAssert = 710,
    cudaErrorHardwareStackError = 714,
    cudaErrorIllegalInstruction = 715,
    cudaErrorMisalignedAddress = 716,
    cudaErrorInvalidAddressSpace = 717,
    cudaErrorInvalidPc = 718,
    cudaErrorLaunchFailure = 719,
    cudaErrorSystemNotReady = 802,
    cudaErrorSystemDriverMismatch = 803,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902,
    cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorCapturedEvent = 907,
    cudaErrorUnknown = 999,
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributePreferredSharedMemoryCarveout
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock,
    cudaDevAttrMaxSharedMemoryPerBlock,
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrL2CacheSize,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor,
    cudaDevAttrMaxSharedMemoryPerBlockOptin
};

enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};

enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
    int major, minor, multiProcessorCount, warpSize, l2CacheSize, regsPerBlock, maxThreadsPerBlock;
    int memoryClockRate, memoryBusWidth, clockRate, integrated, ECCEnabled;
};

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
union cudaLaunchAttributeValue {
    char pad[64];
    int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
using cudaStream_t = struct SimtStream*;
using cudaEvent_t = struct SimtEvent*;
using cudaGraph_t = struct SimtGraph*;
using cudaGraphExec_t = struct SimtGraphExec*;
using cudaGraphNode_t = struct SimtGraphNode*;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned int numAttrs = 0;
};

inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

cudaError_t cudaMalloc(void** data, size_t bytes); // filled with 0xff bytes
cudaError_t cudaFree(void* data);
cudaError_t cudaMallocHost(void** data, size_t bytes);
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* data, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream = nullptr);

template<class T>
cudaError_t cudaMalloc(T** data, size_t bytes)
{
    return cudaMalloc(reinterpret_cast<void**>(data), bytes);
}
template<class T>
cudaError_t cudaMallocHost(T** data, size_t bytes)
{
    return cudaMallocHost(reinterpret_cast<void**>(data), bytes);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count); // only the count
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

struct cudaFuncAttributes {
    int ptxVersion = 0;
    int binaryVersion = 0;
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);

namespace simt {

class DeviceMemory;
DeviceMemory& device_memory(); // of the single device

// Properties that the device reports.
struct DeviceShape {
    int capability = 90; // 90: sm_90
    int multiprocessors = 4;
    int most_shared = 227 * 1024; // bytes of shared memory per block, for kernels that opt in
    int compiled_for = 0;         // capability that the code was compiled for; 0: the device's own
    // cudaFuncGetAttributes reports ptxVersion, not only binaryVersion
    bool reports_ptx_version = true;
};
void set_device(const DeviceShape& shape);
int compiled_for(); // the capability that its code was compiled for

// Makes a call fail with `error`, after `calls` more calls that can fail; then every later call fails, too. With
// cudaErrorMemoryAllocation, counts only allocations, and only one fails.
void fail_after(uint64_t calls, cudaError_t error);
void stop_failing();
uint64_t calls();                // so far
uint64_t overlapping_launches(); // launches among these calls that may begin early (work.h)
uint64_t calls_after_failure();  // calls since the failure that free or destroy something
void count_after_failure();      // called by every function that frees or destroys something
int max_threads();               // largest block launched since forget_threads
void forget_threads();
cudaError_t enter(bool allocates = false); // every call that can fail calls it first
// Calls DeviceMemory::forbid_host_access.
void forbid_host_access(bool out);
// Simulates another program that occupies this much of the device's memory.
void withhold(size_t bytes);

// Sets the status that cudaGetLastError returns next.
cudaError_t remember(cudaError_t status);

// Rejects launches that a device would reject; runs the grid, or adds it to the graph of a captured stream.
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, void (*body)(const void*),
                   std::shared_ptr<const void> arguments);

template<class... Parameters>
struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> arguments;
    static void make(const void* call)
    {
        const Call& self = *static_cast<const Call*>(call);
        std::apply(self.kernel, self.arguments);
    }
};

} // namespace simt

template<class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments)
{
    static_assert((sizeof(Parameters) + ... + 0) <= 4096, "a kernel's parameters have 4 KiB");
    using Call = simt::Call<Parameters...>;
    const auto call = std::make_shared<const Call>(
        Call{kernel, std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)});
    return simt::launch(*config, reinterpret_cast<const void*>(kernel), Call::make, call);
}
