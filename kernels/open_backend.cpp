#include <algorithm>
#include <fstream>
#include <sched.h>
#include <set>
#include <thread>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/cpu/cpu_backend.h"

namespace palimpsest::kernels {
namespace {

constexpr int most_threads = 1024;

// Cores this process may run on; the threads of one core share its arithmetic units and count once.
int physical_cores()
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        const std::string number = std::to_string(cpu);
        std::ifstream siblings("/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list");
        std::string core;
        cores.insert(std::getline(siblings, core) ? core : number);
    }
    return std::max(1, static_cast<int>(cores.size()));
}

int checked_threads(int wanted)
{
    if (wanted < 0 || wanted > most_threads)
        throw Error(ErrorKind::Usage, "PAL-OPTION-12", "threads",
                    std::to_string(wanted) + " is not between 0 and " + std::to_string(most_threads),
                    "0 uses one thread per core");
    return wanted == 0 ? physical_cores() : wanted;
}

} // namespace

std::unique_ptr<Backend> open_backend(const BackendChoice& choice)
{
    const std::string& device = choice.device;
    if (device == "cuda" || device.starts_with("cuda:"))
        throw Error(ErrorKind::Resources, "PAL-GPU-01", "device '" + printable(device) + "'",
                    "this build has no GPU backend", "choose cpu");
    if (device != "auto" && device != "cpu")
        throw Error(ErrorKind::Usage, "PAL-OPTION-10", "device '" + printable(device) + "'",
                    "there is no such device", "choose one of auto, cpu");
    const int threads = checked_threads(choice.threads);
    return std::make_unique<cpu::CpuBackend>(threads, choice.simd);
}

} // namespace palimpsest::kernels
