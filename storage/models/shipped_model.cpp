#include "storage/models/shipped_model.h"

#include "kernels/base/program_folder.h"

namespace palimpsest::storage {
namespace {

// Empty if no folder has it.
std::filesystem::path find_shipped(const std::filesystem::path& name)
{
    std::error_code ignored;
    for (auto folder = program_folder().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
        if (std::filesystem::exists(folder / name, ignored)) return folder / name;
    return {};
}

} // namespace

std::filesystem::path shipped_model()
{
    constexpr const char* name = "share/palimpsest/palimpsest-small.gguf";
    const auto found = find_shipped(name);
    return found.empty() ? program_folder().parent_path() / name : found;
}

std::filesystem::path shipped_encoder_change(const std::string& encoder)
{
    return find_shipped("share/palimpsest/encoder/" + encoder + ".safetensors");
}

std::filesystem::path shipped_sentence_change(const std::string& encoder)
{
    return find_shipped("share/palimpsest/encoder/sentences/" + encoder + ".safetensors");
}

} // namespace palimpsest::storage
