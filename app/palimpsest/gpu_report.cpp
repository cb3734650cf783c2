#include "app/palimpsest/gpu_report.h"

#include <algorithm>

#include "app/palimpsest/wording.h"
#include "kernels/backends/device_plugin.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/packed_text.h"

namespace palimpsest::app {
namespace {

using kernels::CudaDevice;
using kernels::CudaInfo;
using nlohmann::ordered_json;

ordered_json text_or_null(const std::string& text)
{
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json text_or_null(const Text& text)
{
    return text_or_null(for_scripts(text));
}

ordered_json text_or_null(const PackedText& text)
{
    return text_or_null(unpack(text));
}

// 13020 becomes "13.2"; 0 becomes "".
std::string cuda_version(int version)
{
    return version == 0 ? "" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
std::string capability(int number)
{
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
}

ordered_json facts_of(const CudaDevice& device, int number)
{
    return {{"device", "cuda:" + std::to_string(number)},
            {"name", device.name},
            {"compute_capability", capability(device.compute_capability)},
            {"multiprocessors", device.multiprocessors},
            {"memory_bytes", device.memory_bytes},
            {"free_bytes", device.free_bytes},
            {"problem", text_or_null(device.problem)}};
}

Text line_of(const CudaDevice& device, int number)
{
    const Text line("cuda:{0} {1}, compute capability {2}, {3} free of {4}", number, device.name,
                    capability(device.compute_capability), format_bytes(device.free_bytes),
                    format_bytes(device.memory_bytes));
    const Text problem = unpack(device.problem);
    return problem.empty() ? line : Text("{0}, not used: {1}", line, problem);
}

Text library_text(const CudaInfo& survey)
{
    const std::string library = survey.matrix_library;
    const Text found = library.empty() ? Text("no cuBLASLt") : Text("cuBLASLt {0}", library);
    const Text problem = unpack(survey.matrix_library_problem);
    return problem.empty() ? found : Text("{0} ({1})", found, problem);
}

Text software_line(const CudaInfo& survey, const std::string& plugin)
{
    Text libraries("runtime {0}, {1}, plugin {2}", cuda_version(survey.runtime_version), library_text(survey),
                   plugin);
    if (survey.driver_version == 0) return libraries;
    const std::string release = *survey.driver_release ? std::string(survey.driver_release) + " " : "";
    return Text("driver {0}for CUDA {1}, {2}", release, cuda_version(survey.driver_version), libraries);
}

int described_gpus(const CudaInfo& survey)
{
    return std::min(survey.device_count, CudaInfo::most_devices);
}

ordered_json facts_of(const CudaInfo& survey)
{
    ordered_json devices = ordered_json::array();
    for (int i = 0; i < described_gpus(survey); ++i)
        devices.push_back(facts_of(survey.devices[i], i));
    return {{"driver", text_or_null(survey.driver_release)},
            {"driver_cuda", text_or_null(cuda_version(survey.driver_version))},
            {"runtime_cuda", text_or_null(cuda_version(survey.runtime_version))},
            {"cublaslt", text_or_null(survey.matrix_library)},
            {"cublaslt_problem", text_or_null(survey.matrix_library_problem)},
            {"device_count", survey.device_count},
            {"devices", devices}};
}

// Hardware and software in one line; empty without a plugin that can query them.
Text line_of(const CudaInfo& survey, const std::string& plugin)
{
    if (survey.runtime_version == 0) return {};
    std::vector<Text> parts;
    parts.reserve(static_cast<size_t>(described_gpus(survey)) + 1);
    for (int i = 0; i < described_gpus(survey); ++i)
        parts.push_back(line_of(survey.devices[i], i));
    parts.push_back(software_line(survey, plugin));
    return joined(parts, "; ");
}

// Fills `survey` and opens the device that `auto` selects. Returns the first problem: of the plugin, the driver or
// that device.
kernels::PluginProblem problem_of(const kernels::DevicePlugin& plugin, CudaInfo& survey)
{
    kernels::PluginProblem problem = plugin.survey(survey);
    if (const Text found = unpack(survey.problem); !problem.code && !found.empty())
        problem = {ErrorCode::GpuUnavailable, found, unpack(survey.remedy)};
    if (!problem.code) plugin.open(0, problem);
    return problem;
}

} // namespace

GpuReport gpu_report()
{
    const auto plugin = kernels::DevicePlugin::find();
    CudaInfo survey;
    const kernels::PluginProblem problem = problem_of(plugin, survey);
    const bool used = !problem.code;
    ordered_json facts{{"used", used},
                       {"plugin", text_or_null(plugin.file())},
                       {"problem", text_or_null(problem.problem)},
                       {"remedy", text_or_null(problem.remedy)}};
    facts.update(facts_of(survey));
    const Text line = line_of(survey, plugin.file());
    if (used) return {line, {}, facts};
    return {line.empty() ? Text("not used: {0}", problem.problem)
                         : Text("not used: {0}; {1}", problem.problem, line),
            problem.remedy, facts};
}

} // namespace palimpsest::app
