#include "kernels/cuda/device/cuda_error.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

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

[[noreturn]] void report(ErrorCode code, Text what, Text remedy)
{
    throw Error(ErrorKind::Resources, code, Text("graphics card"), std::move(what), std::move(remedy));
}

} // namespace

void check(cudaError_t status)
{
    if (status == cudaSuccess) return;
    cudaGetLastError(); // clears errors that are not sticky, or the next launch would report them again
    const char* const name = cudaGetErrorName(status);
    if (status == cudaErrorMemoryAllocation)
        report(ErrorCode::GpuMemoryFull, Text("its memory is full ({0})", name),
               Text("choose a smaller {0} or {1}, or a smaller model, or set {2} to {3}", Setting::Budget,
                    Setting::Chunk, Setting::Device, "cpu"));
    note(status);
    if (is_sticky(status)) {
        report(
            ErrorCode::GpuLost, Text("it stopped responding ({0})", name),
            Text("restart the program to use the graphics card again, or set {0} to {1}", Setting::Device, "cpu"));
    }
    report(ErrorCode::GpuRefused, Text("it refused a command ({0})", name),
           Text("set {0} to {1}", Setting::Device, "cpu"));
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
