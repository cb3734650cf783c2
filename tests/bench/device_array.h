// An array in device memory, for benchmarks. Copies of the object share the memory.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/device_memory.h"

namespace palimpsest::bench {

template<class T>
class DeviceArray {
public:
    DeviceArray() = default;
    DeviceArray(kernels::cuda::CudaContext& context, const std::vector<T>& host) : DeviceArray(host.size())
    {
        if (host.empty()) return;
        kernels::cuda::check(cudaMemcpyAsync(data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice,
                                             context.stream()));
        context.finish();
    }
    explicit DeviceArray(size_t count)
        : data_(kernels::cuda::allocate_device(std::max<size_t>(1, count) * sizeof(T)), kernels::cuda::free_device)
    {
    }
    T* data() const { return static_cast<T*>(data_.get()); }

private:
    std::shared_ptr<void> data_;
};

} // namespace palimpsest::bench
