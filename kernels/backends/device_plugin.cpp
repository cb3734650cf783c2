#include "kernels/backends/device_plugin.h"

#include "kernels/base/printable.h"
#include "kernels/base/program_folder.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace palimpsest::kernels {
namespace {

constexpr const char* plugin_name = "libpalimpsest-cuda.so";

std::vector<std::filesystem::path> plugin_folders()
{
    if (const char* given = std::getenv("PALIMPSEST_PLUGINS"); given && *given) return {given};
    const std::filesystem::path folder = program_folder();
    if (folder.empty()) return {};
    return {folder, (folder / "../lib/palimpsest").lexically_normal()};
}

PluginProblem missing_in(const std::vector<std::filesystem::path>& folders)
{
    std::vector<Text> names;
    names.reserve(folders.size());
    for (const auto& folder : folders)
        names.push_back(Text::escaped(folder.string()));
    const Text remedy("install the GPU plugin of this version there, or set {0} to {1}", Setting::Device, "cpu");
    if (names.empty()) return {ErrorCode::GpuUnavailable, Text("there is no {0}", plugin_name), remedy};
    if (names.size() == 1)
        return {ErrorCode::GpuUnavailable, Text("there is no {0} in {1}", plugin_name, names[0]), remedy};
    return {ErrorCode::GpuUnavailable, Text("there is no {0} in {1} or {2}", plugin_name, names[0], names[1]),
            remedy};
}

PluginProblem of_other_version(const std::string& file)
{
    return {ErrorCode::GpuUnavailable,
            Text("the GPU plugin {0} belongs to another version of this program", printable(file)),
            Text("install the one of this version, or set {0} to {1}", Setting::Device, "cpu")};
}

// REQUIRES: the status is not Written.
PluginProblem refusal(CudaStatus status, const std::string& file)
{
    if (status != CudaStatus::OutOfMemory) return of_other_version(file);
    return {ErrorCode::OutOfMemory, Text("there is not enough memory to open it"),
            Text("close other programs, or set {0} to {1}", Setting::Device, "cpu")};
}

template<class Function>
Function* function_of(void* library, const char* symbol)
{
    return reinterpret_cast<Function*>(dlsym(library, symbol));
}

} // namespace

DevicePlugin DevicePlugin::find()
{
    DevicePlugin plugin;
    const auto folders = plugin_folders();
    for (const auto& folder : folders)
        if (std::error_code unknown; std::filesystem::exists(folder / plugin_name, unknown)) {
            plugin.load((folder / plugin_name).string());
            return plugin;
        }
    plugin.problem_ = missing_in(folders);
    return plugin;
}

void DevicePlugin::load(const std::string& file)
{
    file_ = file;
    // dlopen searches the library path for names without a slash, so pass an absolute path.
    void* library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        problem_ = {ErrorCode::GpuUnavailable,
                    Text("the GPU plugin {0} is damaged or made for another system", printable(file)),
                    Text("install it again, or set {0} to {1}", Setting::Device, "cpu")};
        return;
    }
    const auto open = function_of<OpenCuda>(library, cuda_open_symbol);
    const auto survey = function_of<SurveyCuda>(library, cuda_survey_symbol);
    if (open && survey) {
        open_ = open;
        survey_ = survey;
        return;
    }
    problem_ = of_other_version(file);
    dlclose(library);
}

std::unique_ptr<Backend> DevicePlugin::open(int device, PluginProblem& problem) const
{
    problem = problem_;
    if (!works()) return nullptr;
    CudaOpening opening;
    const CudaStatus status = open_(cuda_plugin_layout(), device, &opening);
    if (status != CudaStatus::Written)
        problem = refusal(status, file_);
    else if (!opening.backend)
        problem = {error_code_named(opening.code).value_or(ErrorCode::Internal), unpack(opening.problem),
                   unpack(opening.remedy)};
    return std::unique_ptr<Backend>(opening.backend);
}

PluginProblem DevicePlugin::survey(CudaInfo& survey) const
{
    if (!works()) return problem_;
    const CudaStatus status = survey_(cuda_plugin_layout(), &survey);
    if (status == CudaStatus::Written) return {};
    survey = {};
    return refusal(status, file_);
}

} // namespace palimpsest::kernels
