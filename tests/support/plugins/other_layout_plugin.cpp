// A plugin whose functions have the names of this version, but which was built from other headers.

#include "kernels/cuda_plugin.h"

using namespace palimpsest::kernels;

extern "C" {

CudaStatus palimpsest_cuda_open_1(uint64_t, int32_t, CudaOpening*) noexcept
{
    return CudaStatus::OtherLayout;
}

CudaStatus palimpsest_cuda_survey_1(uint64_t, CudaInfo*) noexcept
{
    return CudaStatus::OtherLayout;
}
}
