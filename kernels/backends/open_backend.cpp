#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sched.h>
#include <set>
#include <thread>

#include "kernels/backend.h"
#include "kernels/backends/device_plugin.h"
#include "kernels/backends/host_threads.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "kernels/cpu/cpu_backend.h"

namespace palimpsest::kernels {
namespace {

constexpr int max_threads = 1024;

// The number of cores that this process may run on. Hyper-threads of one core share its arithmetic units and count
// once.
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
    if (wanted < 0 || wanted > max_threads)
        throw Error(ErrorKind::Usage, ErrorCode::InvalidThreadCount, Text(Setting::Threads),
                    Text("{0} is not between 0 and {1}", wanted, max_threads), Text("0 uses one thread per core"));
    return wanted == 0 ? physical_cores() : wanted;
}

// Returns N for "cuda:N", 0 for "cuda", and nullopt for other names.
std::optional<int> cuda_device(std::string_view name)
{
    if (name == "cuda") return 0;
    if (!name.starts_with("cuda:")) return std::nullopt;
    name.remove_prefix(5);
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
    return number;
}

std::unique_ptr<Backend> open_cuda(int device, const std::string& name)
{
    PluginProblem problem;
    auto backend = DevicePlugin::find().open(device, problem);
    if (backend) return backend;
    const ErrorCode code = problem.code.value_or(ErrorCode::Internal);
    throw Error(code == ErrorCode::GpuUnavailable ? ErrorKind::NotFound : ErrorKind::Resources, code,
                Text("device '{0}'", name), problem.problem, problem.remedy);
}

} // namespace

int host_threads(const Backend& backend)
{
    return backend.name() == "cpu" ? backend.threads() : physical_cores();
}

std::unique_ptr<Backend> open_backend(const BackendChoice& choice)
{
    const int threads = checked_threads(choice.threads);
    if (const auto device = cuda_device(choice.device)) return open_cuda(*device, choice.device);
    if (choice.device != "auto" && choice.device != "cpu")
        throw Error(ErrorKind::Usage, ErrorCode::UnknownDevice, Text("device '{0}'", printable(choice.device)),
                    Text("there is no such device"), Text("choose one of {0}", "auto, cpu, cuda, cuda:N"));
    return std::make_unique<cpu::CpuBackend>(threads, choice.simd, choice.exact_products);
}

} // namespace palimpsest::kernels
