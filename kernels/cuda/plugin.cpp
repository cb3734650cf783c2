// The two functions that the plugin exports. They do not throw.

#include <algorithm>
#include <cstring>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_survey.h"
#include "kernels/cuda/device/launch_count.h"
#include "kernels/cuda/linear/cublaslt_library.h"
#include "kernels/cuda_plugin.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

template<size_t room>
void write(char (&to)[room], std::string_view text)
{
    const size_t count = std::min(text.size(), room - 1);
    std::memcpy(to, text.data(), count);
    to[count] = '\0';
}

void refuse(CudaOpening& opening, ErrorCode code, const Text& problem, const Text& remedy)
{
    write(opening.code, name_of(code));
    opening.problem = pack(problem);
    opening.remedy = pack(remedy);
}

void open(int device, CudaOpening& opening)
{
    const cuda::Driver driver = cuda::find_driver();
    const auto refusal = driver.refusal ? driver.refusal : cuda::refusal_of(device, driver);
    if (refusal) return refuse(opening, ErrorCode::GpuUnavailable, refusal->problem, refusal->remedy);
    try {
        opening.backend = std::make_unique<cuda::CudaBackend>(device).release();
    } catch (const Error& error) {
        refuse(opening, error.code(), error.text(), error.remedy());
    }
}

void describe(int device, const cuda::Driver& driver, CudaDevice& to)
{
    const cuda::DeviceFacts facts = cuda::facts_of(device);
    write(to.name, facts.name);
    to.compute_capability = facts.capability;
    to.multiprocessors = facts.multiprocessors;
    to.memory_bytes = facts.memory_bytes;
    to.free_bytes = facts.free_bytes;
    if (const auto refusal = cuda::refusal_of(device, driver)) to.problem = pack(refusal->problem);
}

// Returns the cuBLASLt library that device 0 uses: the first that can create a handle there. If device 0 cannot be
// used: the first that loads.
cuda::CublasLtLibrary matrix_library(const cuda::Driver& driver)
{
    if (driver.refusal || cuda::refusal_of(0, driver)) return cuda::loadable_cublaslt();
    try {
        return cuda::cublaslt_on(0);
    } catch (const Error& error) {
        return {nullptr, nullptr, "", error.text()};
    }
}

void survey(CudaInfo& to)
{
    const cuda::Driver driver = cuda::find_driver();
    write(to.driver_release, driver.release);
    to.driver_version = driver.version;
    to.runtime_version = driver.runtime_version;
    to.device_count = driver.devices;
    to.launches = cuda::launches_so_far;
    if (driver.refusal) {
        to.problem = pack(driver.refusal->problem);
        to.remedy = pack(driver.refusal->remedy);
    }
    for (int i = 0; i < std::min(driver.devices, CudaInfo::most_devices); ++i)
        describe(i, driver, to.devices[i]);
    const cuda::CublasLtLibrary library = matrix_library(driver);
    write(to.matrix_library, library.file);
    to.matrix_library_problem = pack(library.problem);
}

} // namespace

extern "C" {

[[gnu::visibility("default")]] CudaStatus palimpsest_cuda_open_1(uint64_t layout, int32_t device,
                                                                 CudaOpening* opening) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    try {
        open(device, *opening);
        return CudaStatus::Written;
    } catch (const std::exception&) {
        return CudaStatus::OutOfMemory;
    }
}

[[gnu::visibility("default")]] CudaStatus palimpsest_cuda_survey_1(uint64_t layout, CudaInfo* to) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    try {
        survey(*to);
        return CudaStatus::Written;
    } catch (const std::exception&) {
        return CudaStatus::OutOfMemory;
    }
}

static_assert(std::is_same_v<decltype(palimpsest_cuda_open_1), OpenCuda>);
static_assert(std::is_same_v<decltype(palimpsest_cuda_survey_1), SurveyCuda>);
}
