// A plugin whose device 0 is the CPU, to test plugin loading without a GPU. Device 1 exists but its memory is full;
// device 2 reports a problem of the maximum length.

#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_plugin.h"

using namespace palimpsest::kernels;

extern "C" {

CudaStatus palimpsest_cuda_open_1(uint64_t layout, int32_t device, CudaOpening* opening) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    if (device == 0) {
        opening->backend = new cpu::CpuBackend(1, "");
        return CudaStatus::Written;
    }
    std::strcpy(opening->code, device == 1 ? "PAL-GPU-02" : "PAL-GPU-01");
    if (device == 1)
        std::strcpy(opening->problem, "its memory is full");
    else
        std::memset(opening->problem, 'x', sizeof opening->problem - 1);
    std::strcpy(opening->remedy, "choose cpu");
    return CudaStatus::Written;
}

CudaStatus palimpsest_cuda_survey_1(uint64_t layout, CudaInfo* survey) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    std::strcpy(survey->driver_release, "123.45");
    survey->driver_version = 13020;
    survey->runtime_version = 13000;
    survey->device_count = 2;
    CudaDevice& first = survey->devices[0];
    std::strcpy(first.name, "A card");
    first.compute_capability = 120;
    first.multiprocessors = 7;
    first.memory_bytes = 2'000'000'000;
    first.free_bytes = 1'500'000'000;
    std::strcpy(survey->devices[1].name, "Another");
    survey->devices[1].compute_capability = 61;
    std::strcpy(survey->devices[1].problem, "its compute capability is 6.1 and 7.5 is needed");
    std::strcpy(survey->matrix_library_problem, "not looked for");
    return CudaStatus::Written;
}
}
