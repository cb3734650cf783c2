#include "kernels/base/program_folder.h"

namespace palimpsest {

std::filesystem::path program_folder()
{
    std::error_code unknown;
    return std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
}

} // namespace palimpsest
