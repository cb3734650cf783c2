#include "storage/models/shipped_model.h"

#include "kernels/base/program_folder.h"

namespace palimpsest::storage {

std::filesystem::path shipped_model()
{
    constexpr const char* name = "share/palimpsest/palimpsest-small.gguf";
    const std::filesystem::path program = program_folder();
    std::error_code ignored;
    for (auto folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
        if (std::filesystem::exists(folder / name, ignored)) return folder / name;
    return program.parent_path() / name;
}

} // namespace palimpsest::storage
