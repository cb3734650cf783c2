#include "kernels/backends/device_plugin.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace palimpsest::kernels {
namespace {

constexpr const char* plugin_name = "libpalimpsest-cuda.so";
constexpr const char* not_there = "PAL-GPU-01";

std::vector<std::filesystem::path> plugin_folders()
{
    if (const char* given = std::getenv("PALIMPSEST_PLUGINS"); given && *given) return {given};
    std::error_code unknown;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (unknown) return {};
    const std::filesystem::path folder = program.parent_path();
    return {folder, (folder / "../lib/palimpsest").lexically_normal()};
}

PluginProblem missing_in(const std::vector<std::filesystem::path>& folders)
{
    std::string list;
    for (const auto& folder : folders)
        list += (list.empty() ? " in " : " or ") + printable(folder.string());
    return {not_there, std::string("there is no ") + plugin_name + list,
            "install the GPU plugin of this version there, or choose cpu"};
}

PluginProblem of_other_version(const std::string& file)
{
    return {not_there, "the GPU plugin " + printable(file) + " belongs to another version of this program",
            "install the one of this version, or choose cpu"};
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
        problem_ = {not_there, "the GPU plugin " + printable(file) + " is damaged or made for another system",
                    "install it again, or choose cpu"};
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
    if (open_(cuda_plugin_layout(), device, &opening) != CudaStatus::Written)
        problem = of_other_version(file_);
    else if (!opening.backend)
        problem = {opening.code, opening.problem, opening.remedy};
    return std::unique_ptr<Backend>(opening.backend);
}

PluginProblem DevicePlugin::survey(CudaInfo& survey) const
{
    if (!works()) return problem_;
    if (survey_(cuda_plugin_layout(), &survey) != CudaStatus::Written) return of_other_version(file_);
    return {};
}

} // namespace palimpsest::kernels
