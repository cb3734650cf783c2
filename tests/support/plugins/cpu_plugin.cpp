// A plugin whose device 0 is the CPU, to test plugin loading without a GPU. Device 1 exists but its memory is full;
// device 2 reports a problem that is too long for a PackedText; device 3 lacks host memory.

#include <cstdio>
#include <cstring>
#include <new>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_plugin.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

extern "C" {

CudaStatus palimpsest_cuda_open_1(uint64_t layout, int32_t device, CudaOpening* opening) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    if (device == 0) {
        try {
            opening->backend = new cpu::CpuBackend(1, "");
        } catch (const std::bad_alloc&) {
            return CudaStatus::OutOfMemory;
        }
        return CudaStatus::Written;
    }
    if (device == 3) return CudaStatus::OutOfMemory;
    std::snprintf(opening->code, sizeof opening->code, "%s", device == 1 ? "PAL-GPU-02" : "PAL-GPU-01");
    opening->problem =
        pack(device == 1 ? Text("its memory is full") : Text::verbatim(std::string(sizeof(PackedText), 'x')));
    opening->remedy = pack(Text("set {0} to {1}", Setting::Device, "cpu"));
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
    survey->devices[1].problem = pack(Text("its compute capability is {0} and {1} is needed", "6.1", "7.5"));
    survey->matrix_library_problem = pack(Text("not looked for"));
    return CudaStatus::Written;
}
}
