#include "kernels/cuda/device/cuda_error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "kernels/base/error.h"

namespace palimpsest::kernels::cuda {
namespace {

std::atomic<bool> failed = false;

// By number, as the runtime documents them: after one of these, every CUDA call of the process returns an error.
// 214: uncorrectable ECC, 220: NVLink, 226: contained, 700: illegal address, 702: launch timeout, 709: context
// destroyed, 710: assert, 714-719: faults of a kernel, 721: tensor memory, 999: unknown.
constexpr std::array sticky_codes{214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};

bool is_sticky(cudaError_t status)
{
    return std::find(sticky_codes.begin(), sticky_codes.end(), static_cast<int>(status)) != sticky_codes.end();
}

[[noreturn]] void report(const char* code, const std::string& what, const char* remedy)
{
    throw Error(ErrorKind::Resources, code, "graphics card", what, remedy);
}

} // namespace

void check(cudaError_t status)
{
    if (status == cudaSuccess) return;
    cudaGetLastError(); // clears errors that are not sticky, or the next launch would report them again
    const std::string name = std::string(" (") + cudaGetErrorName(status) + ")";
    if (status == cudaErrorMemoryAllocation)
        report("PAL-GPU-02", "its memory is full" + name,
               "choose a smaller budget, chunk or model, or --device cpu");
    note(status);
    if (is_sticky(status)) {
        report("PAL-GPU-03", "it stopped responding" + name,
               "start the program again to use it again, or choose --device cpu");
    }
    report("PAL-GPU-04", "it refused a command" + name, "choose --device cpu");
}

void note(cudaError_t status) noexcept
{
    if (is_sticky(status)) failed = true;
}

bool device_failed()
{
    return failed;
}

void forget_failure()
{
    failed = false;
}

} // namespace palimpsest::kernels::cuda
