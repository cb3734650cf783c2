#include "kernels/base/program_folder.h"

namespace palimpsest {

std::filesystem::path program_folder()
{
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
}

std::filesystem::path installed_file(const std::filesystem::path& name)
{
    std::error_code ignored;
    for (auto folder = program_folder().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
        if (std::filesystem::exists(folder / name, ignored)) return folder / name;
    return {};
}

} // namespace palimpsest
