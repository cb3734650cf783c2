#include "tests/support/simt/emulated_cuda.h"

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_graph.h"
#include "tests/support/simt/runtime_api.h"

namespace palimpsest::tests {

std::unique_ptr<kernels::Backend> open_emulated_cuda(int capability)
{
    simt::set_device({.capability = capability});
    return std::make_unique<kernels::cuda::CudaBackend>(0);
}

size_t recorded_nodes(const kernels::Recording& recording)
{
    return dynamic_cast<const kernels::cuda::GraphRecording&>(recording).nodes();
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
