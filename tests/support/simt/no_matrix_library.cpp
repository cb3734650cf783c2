// The emulator has no cuBLASLt: the backend's own kernels compute all products.
#include "kernels/cuda/linear/cublaslt.h"

namespace palimpsest::kernels::cuda {

size_t library_workspace(const CudaContext&)
{
    return 0;
}

bool multiply_by_library(const Operand&, const Operand&, const ProductRows&, CudaContext&)
{
    return false;
}

} // namespace palimpsest::kernels::cuda
