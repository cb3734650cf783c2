#include "tests/support/simt/emulated_cuda.h"

#include "kernels/cuda/cuda_backend.h"
#include "tests/support/simt/runtime_api.h"

namespace palimpsest::tests {

std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability)
{
    simt::set_device({.capability = capability});
    return std::make_unique<kernels::cuda::CudaBackend>(0);
}

DescendingOrder::DescendingOrder()
{
    simt::set_order(simt::Order::Descending);
}

DescendingOrder::~DescendingOrder()
{
    simt::set_order(simt::Order::Ascending);
}

} // namespace palimpsest::tests
