#include "app/palimpsest/gpu_report.h"

#include <algorithm>

#include "kernels/backends/device_plugin.h"
#include "kernels/base/byte_quantity.h"

namespace palimpsest::app {
namespace {

using kernels::CudaDevice;
using kernels::CudaInfo;
using nlohmann::ordered_json;

ordered_json text_or_null(const std::string& text)
{
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
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

std::string line_of(const CudaDevice& device, int number)
{
    const std::string usable = *device.problem ? std::string(", not used: ") + device.problem : "";
    return "cuda:" + std::to_string(number) + " " + device.name + ", compute capability " +
           capability(device.compute_capability) + ", " + format_bytes(device.free_bytes) + " free of " +
           format_bytes(device.memory_bytes) + usable;
}

std::string library_text(const CudaInfo& survey)
{
    const std::string library = survey.matrix_library, problem = survey.matrix_library_problem;
    return (library.empty() ? "no cuBLASLt" : "cuBLASLt " + library) +
           (problem.empty() ? "" : " (" + problem + ")");
}

std::string software_line(const CudaInfo& survey, const std::string& plugin)
{
    const std::string release = *survey.driver_release ? std::string(survey.driver_release) + " " : "";
    const std::string driver = survey.driver_version == 0
                                   ? ""
                                   : "driver " + release + "for CUDA " + cuda_version(survey.driver_version) + ", ";
    return driver + "runtime " + cuda_version(survey.runtime_version) + ", " + library_text(survey) + ", plugin " +
           plugin;
}

int described(const CudaInfo& survey)
{
    return std::min(survey.device_count, CudaInfo::most_devices);
}

ordered_json facts_of(const CudaInfo& survey)
{
    ordered_json devices = ordered_json::array();
    for (int i = 0; i < described(survey); ++i)
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
std::string line_of(const CudaInfo& survey, const std::string& plugin)
{
    if (survey.runtime_version == 0) return "";
    std::string line;
    for (int i = 0; i < described(survey); ++i)
        line += line_of(survey.devices[i], i) + "; ";
    return line + software_line(survey, plugin);
}

// The first problem: with the plugin, the driver, or the device that `auto` selects.
kernels::PluginProblem problem_of(const kernels::DevicePlugin& plugin, CudaInfo& survey)
{
    kernels::PluginProblem problem = plugin.survey(survey);
    if (problem.code.empty() && *survey.problem) problem = {"PAL-GPU-01", survey.problem, survey.remedy};
    if (problem.code.empty()) plugin.open(0, problem);
    return problem;
}

} // namespace

GpuReport gpu_report()
{
    const auto plugin = kernels::DevicePlugin::find();
    CudaInfo survey;
    const kernels::PluginProblem problem = problem_of(plugin, survey);
    const bool used = problem.code.empty();
    ordered_json facts{{"used", used},
                       {"plugin", text_or_null(plugin.file())},
                       {"problem", text_or_null(problem.problem)},
                       {"remedy", text_or_null(problem.remedy)}};
    facts.update(facts_of(survey));
    const std::string line = line_of(survey, plugin.file());
    if (used) return {line, "", facts};
    return {"not used: " + problem.problem + (line.empty() ? "" : "; " + line), problem.remedy, facts};
}

} // namespace palimpsest::app
