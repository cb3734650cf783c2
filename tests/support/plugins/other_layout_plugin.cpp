// A plugin with function names of this version that was built from other headers.

#include "kernels/cuda_plugin.h"

using namespace palimpsest::kernels;

extern "C" {

CudaAnswer palimpsest_cuda_open_1(uint64_t, int32_t, CudaOpening*) noexcept
{
    return CudaAnswer::OtherLayout;
}

CudaAnswer palimpsest_cuda_survey_1(uint64_t, CudaSurvey*) noexcept
{
    return CudaAnswer::OtherLayout;
}
}
