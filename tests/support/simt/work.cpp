#include "tests/support/simt/work.h"

#include "tests/support/simt/device_memory.h"

namespace simt {

cudaError_t Work::run() const
{
    if (!grid_) return other_();
    const DeviceMemory::Access access(device_memory());
    simt::run(*grid_);
    return cudaSuccess;
}

std::unique_ptr<EarlyGrid> Work::begin_early() const
{
    const DeviceMemory::Access access(device_memory());
    return std::make_unique<EarlyGrid>(*grid_);
}

bool Turn::begin_early()
{
    if (!begun_) begun_ = work_.begin_early();
    return begun_->lets_next_begin();
}

cudaError_t Turn::run()
{
    if (!begun_) return work_.run();
    const DeviceMemory::Access access(device_memory());
    begun_->finish();
    return cudaSuccess;
}

} // namespace simt
